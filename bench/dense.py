#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dense methods on the processor beside OpenBLAS: the paper's Figures 3, 4, 5, 7 and 8 anew.

    bench/dense.py [--build build] [--threads 2] [--sizes 500,1000,2000,4000] [--rounds 3] [--report bench/results/dense.md]
                   [--fresh] [--wrap COMMAND]

Tables 1 and 2 come from build/example_acoustics where that is built (METAPACK_TESTS=ON). Each method is its own process (build/bench/dense-host), checked before it is timed; the rounds go through all methods in
turn, so that another load on the machine meets them alike, and the best round counts. With --threads 1 the clock is the
thread's own processor time. Rows: build/bench/dense-host.jsonl.
--wrap: a command that each timing runs through (taskset, nice, one that waits for a quiet machine).
The report's part between <!-- host --> and <!-- /host --> is written anew, the rest of the file is left alone."""
import argparse, json, os, platform, re, shlex, subprocess, sys

import chart

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
OURS = ["tile", "none", "butterfly", "bunch-kaufman", "rook", "aasen"]
LAPACK = ["lapack-sytrf", "lapack-sytrf-rook", "lapack-sytrf-aa", "lapack-potrf", "lapack-getrf"]
FAMILIES = ["random", "zero-diagonal", "graded", "saddle", "fiedler", "late-ipm"]


# The paper's obstacles, as large as this has patience for: shape, triangles, wave number (10 triangles a wavelength).
OBSTACLES = [("head", 2000, 4), ("sphere", 3000, 5)]


def row(options, method, n, family="random", kind="d", precision="working", repeats=None):
    command = [] if repeats else list(options.wrap)
    repeats = repeats or max(3, min(40, int(4e10 / n ** 3 / (4 if kind == "z" else 1))))
    command += [f"{options.build}/bench/dense-host", method, str(n), family, kind, str(options.threads), str(repeats),
                precision]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode or not done.stdout:
        print(" ".join(command), done.stderr, file=sys.stderr)
        return None
    return json.loads(done.stdout)


def acoustics(options, shape, n, k, method):
    """One obstacle: our solver beside LU, in single precision complex. None without the example."""
    program = f"{options.build}/example_acoustics"
    if not os.path.exists(program):
        return None
    done = subprocess.run(options.wrap + [program, shape, str(n), str(k), method], capture_output=True, text=True,
                          timeout=900, env=dict(os.environ, OPENBLAS_NUM_THREADS=str(options.threads)))
    ours = re.search(r"LDL\^T +(\S+) s by \S+ factorize (\S+) s .* refine (\d+) steps, residual (\S+), omega (\S+):",
                     done.stdout)
    lu = re.search(r"LU +(\S+) s, residual (\S+),", done.stdout)
    if not ours or not lu:
        print(program, done.stdout, done.stderr, file=sys.stderr)
        return None
    numbers = [float(x) for x in ours.groups() + lu.groups()]
    return dict(zip(["whole_s", "factorize_s", "steps", "residual", "omega", "lu_s", "lu_residual"], numbers),
                obstacle=shape, n=n, k=k, method=method, type="c")


def best(rows, **want):
    """The row of the least time among those that agree and are right."""
    want.setdefault("type", "d")
    found = [r for r in rows if all(r.get(k) == v for k, v in want.items()) and r.get("least_s")
             and r.get("omega", 1) < 1e-7]
    return min(found, key=lambda r: r["least_s"]) if found else None


def measure(options):
    path = f"{options.build}/bench/dense-host.jsonl"
    rows = [] if options.fresh or not os.path.exists(path) else [json.loads(line) for line in open(path)]
    jobs = [(m, n, "random", "d", "working") for n in options.sizes for m in OURS + LAPACK]
    jobs += [("auto", n, "random", "d", "working") for n in options.sizes]
    jobs += [("tile", n, "random", "d", "single") for n in options.sizes]
    jobs += [(m, n, "random", "z", "working") for n in options.sizes if n <= 2000 for m in OURS + LAPACK]
    if not options.report_only:
        with open(path, "w" if options.fresh else "a") as file:
            def keep(r):
                if r:
                    rows.append(r)
                    file.write(json.dumps(r) + "\n")
                    file.flush()
            for family in FAMILIES:
                for n in options.accuracy_sizes if options.fresh else []:
                    for method in OURS + ["auto", "lapack-sytrf"]:
                        keep(row(options, method, n, family, repeats=1))
            for _ in range(options.rounds):
                for job in jobs:
                    keep(row(options, *job))
                for obstacle in OBSTACLES:
                    for method in ["none", "tile"]:
                        keep(acoustics(options, *obstacle, method))
    return rows


def rate(r):
    """GFLOP/s; complex multiply-adds are four."""
    return (4 if r["type"] == "z" else 1) * r["n"] ** 3 / 3 / r["least_s"] * 1e-9 if r else None


def cell(x, form="{:.1f}"):
    return "–" if x is None else form.format(x)


def machine():
    name = platform.processor() or platform.machine()
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
            break
    return name


def report(options, rows):
    text = [f"Machine: {machine()}, {options.threads} thread{'s' if options.threads > 1 else ' (processor time)'}. GFLOP/s of n³/3 for every method, LU too, as in the paper; "
            "the best of all rounds (`make bench-dense`); double precision, random matrices.", "",
            "| n | " + " | ".join(OURS) + " | tile in single | " + " | ".join(m[7:] for m in LAPACK) + " |",
            "|---|" + "---|" * (len(OURS) + 1 + len(LAPACK))]
    for n in options.sizes:
        values = [rate(best(rows, method=m, n=n, family="random", precision="working")) for m in OURS]
        values.append(rate(best(rows, method="tile", n=n, family="random", precision="single")))
        values += [rate(best(rows, method=m, n=n, family="random")) for m in LAPACK]
        text.append(f"| {n} | " + " | ".join(map(cell, values)) + " |")
    n = options.sizes[-1]
    tile = rate(best(rows, method="tile", n=n, family="random", precision="working"))
    peers = {m: rate(best(rows, method=m, n=n, family="random")) for m in LAPACK}
    if tile and all(peers.values()):
        text += ["", f"Tile LDLᵀ at n = {n}: {tile / peers['lapack-sytrf']:.2f} times sytrf, "
                     f"{tile / peers['lapack-potrf']:.2f} of potrf's rate, {tile / peers['lapack-getrf']:.2f} times getrf."]
    text += ["", "![rates](dense-host-rate.svg)", ""]
    names = ["tile", "none", "aasen", "lapack-sytrf", "lapack-potrf"]
    lines = [{"name": m, "y": [rate(best(rows, method=m, n=k, family="random", precision="working"))
                               for k in options.sizes]} for m in names]
    solve = ["tile", "none", "aasen", "lapack-sytrf", "auto"]

    def seconds(m, k):
        r = best(rows, method=m, n=k, family="random", precision="working")
        return r and r["whole_s"]
    times = [{"name": m, "y": [seconds(m, k) for k in options.sizes]} for m in solve]
    legend = list(dict.fromkeys(names + solve))
    ticks = [str(k) for k in options.sizes]
    folder = os.path.dirname(options.report)
    chart.draw(f"{folder}/dense-host-rate.svg",
               [{"title": "factorization, GFLOP/s", "ticks": ticks, "series": lines[:], "label": "n"},
                {"title": "factorize, solve and refine, s", "ticks": ticks, "series": times, "log": True, "label": "n"}],
               legend)
    text += ["### Backward error", "", "ω before and after refinement (steps), one right-hand side. LAPACK does not refine.",
             "", "| family | n | " + " | ".join(OURS + ["auto", "sytrf"]) + " |", "|---|---|" + "---|" * (len(OURS) + 2)]

    for family in FAMILIES:
        for k in options.accuracy_sizes:
            cells = []
            for m in OURS + ["auto", "lapack-sytrf"]:
                r = next((r for r in reversed(rows) if r["method"] == m and r["n"] == k and r["family"] == family
                          and r.get("precision", "working") == "working"), None)
                if r is None:
                    cells.append("–")
                elif "omega" not in r:
                    cells.append("fails")
                elif m.startswith("lapack"):
                    cells.append(f"{r['omega']:.0e}")
                else:
                    cells.append(f"{r['omega0']:.0e} → {r['omega']:.0e} ({r['steps']})")
            text.append(f"| {family} | {k} | " + " | ".join(cells) + " |")
    return "\n".join(text + mixed(options, rows) + in_complex(options, rows) + tables(rows))


def mixed(options, rows):
    """The paper's Figure 7: where the time of a mixed solve goes."""
    parts, panels, text = ["factorize", "solve", "refine"], [], ["", "### Mixed precision", ""]
    pairs = [(precision, [best(rows, method="tile", n=k, family="random", precision=precision) for k in options.sizes])
             for precision in ("single", "working")]
    for precision, found in pairs:
        times = {"factorize": [r and 1e3 * r["least_s"] for r in found], "solve": [r and 1e3 * r["solve_s"] for r in found],
                 "refine": [r and 1e3 * r["refine_s"] for r in found]}
        panels.append({"title": ("single, refined to double" if precision == "single" else "double") + ": ms",
                       "ticks": [str(k) for k in options.sizes], "bars": True, "log": True, "label": "n",
                       "series": [{"name": name, "y": times[name]} for name in parts]})
    chart.draw(f"{os.path.dirname(options.report)}/dense-host-mixed.svg", panels, parts)
    text += ["Tile LDLᵀ, one right-hand side, the paper's Figure 7: factorize + solve + refine (steps), ms.", "",
             "| n | single, refined to double | ω | double | ω | times as fast |", "|---|---|---|---|---|---|"]
    for k, single, double in zip(options.sizes, pairs[0][1], pairs[1][1]):
        if single and double:
            split = lambda r: (f"{1e3 * r['least_s']:.1f} + {1e3 * r['solve_s']:.1f} + {1e3 * r['refine_s']:.1f} "
                               f"({r['steps']}) = {1e3 * whole(r):.1f}")
            whole = lambda r: r["least_s"] + r["solve_s"] + r["refine_s"]
            text.append(f"| {k} | {split(single)} | {single['omega']:.0e} | {split(double)} | {double['omega']:.0e} | "
                        f"{whole(double) / whole(single):.2f} |")
    return text + ["", "![where the time goes](dense-host-mixed.svg)"]


def in_complex(options, rows):
    sizes = [k for k in options.sizes if k <= 2000]
    text = ["", "### Complex", "", "GFLOP/s of 4 n³/3, double complex; symmetric (sytrf) and, for potrf, Hermitian. OpenBLAS 0.3.21's zgemv reads beyond "
            "its matrix, and its zsytrf crashes at times: such runs do not count.", "",
            "| n | " + " | ".join(OURS) + " | " + " | ".join(m[7:] for m in LAPACK) + " |",
            "|---|" + "---|" * (len(OURS) + len(LAPACK))]
    for k in sizes:
        found = [best(rows, method=m, n=k, family="random", type="z") for m in OURS + LAPACK]
        text.append(f"| {k} | " + " | ".join(cell(rate(r)) for r in found) + " |")
    return text


def tables(rows):
    """Tables 1 and 2 of the paper, by the acoustics example."""
    text = ["", "### Acoustics: the paper's Tables 1 and 2", "",
            "Boundary elements, single complex, symmetric; the paper's residual ‖b − A x‖ / (n ‖A‖ ‖x‖); times of the whole "
            "solution. LU: OpenBLAS's getrf, which needs both triangles.", "",
            "| obstacle | n | method | s | GFLOP/s | residual | ω (steps) | LU s | LU's residual | as fast |",
            "|---|---|---|---|---|---|---|---|---|---|"]
    for shape, n, k in OBSTACLES:
        for method in ["none", "tile"]:
            found = [r for r in rows if r.get("obstacle") == shape and r["n"] == n and r["method"] == method]
            if found:
                r = min(found, key=lambda r: r["whole_s"])
                lu = min(x["lu_s"] for x in rows if x.get("obstacle") == shape and x["n"] == n)
                text.append(f"| {shape}, k = {k} | {n} | {method} | {r['whole_s']:.3f} | "
                            f"{4 * n ** 3 / 3e9 / r['factorize_s']:.1f} | {r['residual']:.1e} | {r['omega']:.0e} "
                            f"({r['steps']:.0f}) | {lu:.3f} | {r['lu_residual']:.1e} | {lu / r['whole_s']:.2f} |")
    return text if len(text) > 6 else []


def place(path, body):
    begin, end = "<!-- host -->", "<!-- /host -->"
    old = open(path, encoding="utf-8").read() if os.path.exists(path) else \
        "# Dense symmetric indefinite systems: results\n\n## On the processor\n\n" + begin + end + "\n"
    if begin not in old:
        old += f"\n## On the processor\n\n{begin}{end}\n"
    new = old[:old.index(begin)] + begin + "\n\n" + body + "\n\n" + old[old.index(end):]
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    numbers = lambda text: [int(x) for x in text.split(",")]
    parser.add_argument("--build", default=f"{ROOT}/build")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", type=numbers, default=[500, 1000, 2000, 4000])
    parser.add_argument("--accuracy-sizes", type=numbers, default=[512, 1024])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--wrap", type=shlex.split, default=[])
    parser.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--report", default=f"{ROOT}/bench/results/dense.md")
    options = parser.parse_args()
    rows = measure(options)
    place(options.report, report(options, rows))


if __name__ == "__main__":
    main()
