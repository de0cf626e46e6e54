#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Dense methods on the processor beside OpenBLAS: the paper's Figures 3, 4, 5, 7 and 8 anew.

    bench/dense.py [--build build] [--threads 2] [--sizes 500,1000,2000,4000] [--rounds 3] [--report docs/results/dense.md]

Each method is its own process (build/bench/dense-host), checked before it is timed; the rounds go through all methods in
turn, so that another load on the machine meets them alike, and the best round counts. With --threads 1 the clock is the
thread's own processor time. Rows: build/bench/dense-host.jsonl.
The report's part between <!-- host --> and <!-- /host --> is written anew, the rest of the file is left alone."""
import argparse, json, math, os, platform, subprocess, sys

import chart

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
OURS = ["tile", "none", "butterfly", "bunch-kaufman", "rook", "aasen"]
LAPACK = ["lapack-sytrf", "lapack-sytrf-rook", "lapack-sytrf-aa", "lapack-potrf", "lapack-getrf"]
FAMILIES = ["random", "zero-diagonal", "graded", "saddle", "fiedler", "late-ipm"]


def row(options, method, n, family="random", kind="d", precision="working", repeats=2):
    command = [f"{options.build}/bench/dense-host", method, str(n), family, kind, str(options.threads), str(repeats),
               precision]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode or not done.stdout:
        print(" ".join(command), done.stderr, file=sys.stderr)
        return None
    return json.loads(done.stdout)


def best(rows, **want):
    """The row of the least time among those that agree and are right."""
    found = [r for r in rows if all(r.get(k) == v for k, v in want.items()) and r.get("least_s")
             and r.get("omega", 1) < 1e-7]
    return min(found, key=lambda r: r["least_s"]) if found else None


def measure(options):
    path = f"{options.build}/bench/dense-host.jsonl"
    rows = [] if options.fresh or not os.path.exists(path) else [json.loads(line) for line in open(path)]
    jobs = [(m, n, "random", "d", "working") for n in options.sizes for m in OURS + LAPACK]
    jobs += [("auto", n, "random", "d", "working") for n in options.sizes]
    jobs += [("tile", n, "random", "d", "single") for n in options.sizes]
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
    return rows


def rate(r):
    return r["n"] ** 3 / 3 / r["least_s"] * 1e-9 if r else None


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
            "the best of all rounds (`bench/dense.py`); double precision, random matrices.", "",
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
    single = best(rows, method="tile", n=n, family="random", precision="single")
    double = best(rows, method="tile", n=n, family="random", precision="working")
    if single and double:
        rest = lambda r: r["whole_s"] - r["least_s"]
        text += ["", "### Mixed precision", "",
                 f"n = {n}, factored in single precision and refined to double: {single['least_s']:.3f} s to factorize, "
                 f"{rest(single):.3f} s to solve and refine ({single['steps']} steps), ω {single['omega']:.0e}. In double: "
                 f"{double['least_s']:.3f} s and {rest(double):.3f} s ({double['steps']} steps), ω {double['omega']:.0e}. "
                 f"{double['whole_s'] / single['whole_s']:.2f} times as fast."]
    return "\n".join(text)


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
    parser.add_argument("--accuracy-sizes", type=numbers, default=[512, 1024, 2048])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--fresh", action="store_true", help="forget the rows of earlier runs")
    parser.add_argument("--report-only", action="store_true")
    parser.add_argument("--report", default=f"{ROOT}/docs/results/dense.md")
    options = parser.parse_args()
    rows = measure(options)
    place(options.report, report(options, rows))


if __name__ == "__main__":
    main()
