#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Time METAPACK beside those of its peers that were built, and write a table.

    bench/direct.py [--build build] [--only PATTERN] [--threads 1,2] [--report bench/results/direct-cpu.md]

Matrices: data/, the folder METAPACK_MATRICES (or ../shared/matrices) where it exists, and the generated families
below. On each, every solver runs with each of its settings, one process after the other; a setting counts only if
its answer is right: componentwise backward error at most 1e-14 after at most two refinements. A solver's time is
that of its best right setting. Rows go to BUILD/bench/results.jsonl as they come; a run that was broken off goes on
from there, --fresh begins anew."""
import argparse, collections, datetime, fnmatch, glob, json, math, os, platform, subprocess, sys, time

from page import geometric_mean

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BOUND = 1e-14
SETTINGS = collections.OrderedDict([
    ("metapack", ["default"]),
    ("metapack_bare", ["bare"]),
    ("mumps", ["scotch", "auto", "pord", "amd"]),
    ("mumps_metis", ["metis", "metis+nomatching"]),
    ("ssids", ["matching", "default"]),
    ("pardiso", ["matching", "default", "md", "matching+md"]),
])
TITLE = {"metapack": "METAPACK", "metapack_bare": "METAPACK, bare", "mumps": "MUMPS (Debian)",
         "mumps_metis": "MUMPS (METIS, OpenMP)",
         "ssids": "SSIDS", "pardiso": "PARDISO"}
OURS = ("metapack", "metapack_bare")
GENERATED = ["nlpkkt 20", "nlpkkt 30", "nlpkkt 40", "control-distributed 30", "lin nx=40 ny=40 nz=40", "helmholtz 3d 50",
             "helmholtz 2d 700", "helmholtz 2d 300 boundary=absorbing", "stokes mac 183", "stokes q2q1 100",
             "lp-kkt 30000 60000 coupling=local", "lp-kkt 4000 8000 coupling=random", "optimal-control 5000",
             "quasi-definite 190", "random 3000 density=0.002"]


def program(build, solver):
    return os.path.join(build, "bench", "metapack" if solver in OURS else solver)


def environment(build, solver, threads):
    """What each solver's manual asks for; passive waiting, since a machine is seldom idle."""
    env = dict(os.environ, OMP_NUM_THREADS=str(threads), OPENBLAS_NUM_THREADS=str(threads))
    if solver == "ssids":
        env.update(OMP_CANCELLATION="TRUE", OMP_PROC_BIND="TRUE", OPENBLAS_NUM_THREADS="1")
    if solver == "mumps_metis":
        folders = glob.glob(os.path.join(build, "peers/openblas/usr/lib/*/openblas-openmp"))
        env.update(LD_LIBRARY_PATH=":".join(folders), OMP_WAIT_POLICY="passive")
    return env


def matrices(options):
    """Yield (name, argument of bench_convert)."""
    folders = [os.path.join(ROOT, "data")]
    more = os.environ.get("METAPACK_MATRICES") or os.path.join(ROOT, "../shared/matrices")
    if os.path.isdir(more):
        folders = [more]  # it holds what data/ holds
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "*/*.mtx*"))):
            name = os.path.relpath(path, folder)
            if "_b.mtx" not in name and not name.startswith("tiny/"):
                yield name.split(".mtx")[0], path
    for spec in GENERATED + (options.generate or []):
        yield spec, "generate " + spec


def busy():
    """A process that keeps one core busy."""
    return subprocess.Popen([sys.executable, "-c", "while True: pass"])


def run_one(options, solver, setting, threads, raw, timeout):
    command = [program(options.build, solver), raw, str(threads), setting, str(options.repeats),
               str(options.seconds), options.clock]
    try:
        done = subprocess.run(command, env=environment(options.build, solver, threads), capture_output=True,
                              text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {timeout:.0f} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith('{"solver"')]
    try:
        return json.loads(lines[-1])
    except (IndexError, ValueError):
        return {"failed": f"exit {done.returncode} {done.stderr.strip()[-80:]}"}


def measure(options, path):
    """Fill the results file; return its rows."""
    rows = []
    if os.path.exists(path) and not options.fresh:
        rows = [json.loads(line) for line in open(path)]
    if options.again:
        rows = [r for r in rows if r["solver"] not in options.again.split(",")
                or not fnmatch.fnmatch(r["matrix"], options.only)]
    have = {(r["matrix"], r["solver"], r["setting"], r["threads"]) for r in rows}
    solvers = [s for s in SETTINGS if os.path.exists(program(options.build, s))
               and (not options.solvers or s in options.solvers.split(","))]
    with open(path + ".part", "w") as file:
        file.writelines(json.dumps(r) + "\n" for r in rows)
    os.replace(path + ".part", path)
    sweep = [json.loads(line) for line in open(options.winners)] if options.winners else []
    out = open(path, "a")
    for name, source in matrices(options):
        if not fnmatch.fnmatch(name, options.only):
            continue
        todo = [(s, v, t) for t in options.thread_list for s in solvers for v in winning(sweep, name, s, t)
                if (name, s, v, t) not in have]
        if not todo:
            continue
        raw = os.path.join(options.build, "bench", f"matrix{os.getpid()}.raw")
        made = subprocess.run([os.path.join(options.build, "bench/convert"), source, raw], capture_output=True, text=True)
        if made.returncode:
            print(f"{name}: {made.stderr.strip()}", file=sys.stderr)
            continue
        if options.max_mb and os.path.getsize(raw) > options.max_mb * 2**20:
            continue
        quickest = {}
        for solver, setting, threads in todo:
            # Only the best setting counts: one that is far behind another need not end.
            known = quickest.get((solver, threads), math.inf)
            start = time.monotonic()
            row = run_one(options, solver, setting, threads, raw, min(options.timeout, max(10, 3 * known)))
            if right(row):
                quickest[solver, threads] = min(known, time.monotonic() - start)
            row.update(matrix=name, solver=solver, setting=setting, threads=threads, busy=options.busy)
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
        best = {s: pick(rows, name, s, options.thread_list[-1]) for s in solvers}
        print(f"{name:40s} " + "  ".join(
            f"{s} {best[s]['factor_solve_s']:.4f}" if best[s] else f"{s} -" for s in solvers), flush=True)
        os.remove(raw)
    out.close()
    return [r for r in rows if fnmatch.fnmatch(r["matrix"], options.only)]


def right(row):
    return "failed" not in row and row["backward_error"] <= BOUND


def pick(rows, matrix, solver, threads, key="factor_solve_s"):
    """The fastest right row, or None."""
    mine = [r for r in rows if (r["matrix"], r["solver"], r["threads"]) == (matrix, solver, threads) and right(r)]
    return min(mine, key=lambda r: r[key], default=None)


def winning(sweep, matrix, solver, threads):
    """The settings to run: all, or the one that won an earlier sweep (none if no setting was right there)."""
    if solver in OURS or not any(r["matrix"] == matrix and r["solver"] == solver for r in sweep):
        return SETTINGS[solver]
    best = pick(sweep, matrix, solver, threads)
    return [best["setting"]] if best else []


def why_not(rows, matrix, solver, threads):
    mine = [r for r in rows if (r["matrix"], r["solver"], r["threads"]) == (matrix, solver, threads)]
    errors = [r["backward_error"] for r in mine if "failed" not in r]
    return f"error {min(errors):.0e}" if errors else "failed" if mine else ""


def command_output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return ""


def machine():
    cpu = next((line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), "?")
    memory = next((int(line.split()[1]) // 2**20 for line in open("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return f"{cpu}, {len(os.sched_getaffinity(0))} cores, {memory} GiB, Linux {platform.release()}"


def kind_of(ours):
    """What decides the time of a refactorization, roughly."""
    if ours["inertia"][2] > 0:
        return "singular"
    if ours["delayed"] > 0.02 * ours["n"]:
        return "pivots fail"
    time = ours["refactor_s"] * 1e3
    return "below 0.1 ms" if time < 0.1 else "0.1 to 1 ms" if time < 1 else "above 1 ms"


KINDS = ["below 0.1 ms", "0.1 to 1 ms", "above 1 ms", "pivots fail", "singular"]


def by_class(name, found):
    """A line of the table of means: found is [(peer's time over ours, matrix, class)]."""
    def cell(of):
        return f"{geometric_mean(of):.2f} ({sum(x < 0.9 for x in of)} of {len(of)})" if of else ""
    groups = [[x for x, _, kind in found if kind == k] for k in KINDS]
    worst = ", ".join(f"{matrix} {x:.2f}" for x, matrix, _ in sorted(found)[:3])
    return f"| {name} | {cell([x for x, _, _ in found])} | " + " | ".join(map(cell, groups)) + f" | {worst} |"


def refactorizations(rows, threads, solvers):
    """Markdown lines: one analysis, then refactorize and solve, refined and judged; and bare, on the peers' terms."""
    peers = [s for s in solvers if s not in OURS]
    found, bare, lines = {s: [] for s in (*peers, "best")}, {s: [] for s in peers}, []
    for name in sorted({r["matrix"] for r in rows if r["threads"] == threads}):
        best = {s: pick(rows, name, s, threads, "refactor_solve_s") for s in (*OURS, *peers)}
        ours, plain = best["metapack"], best["metapack_bare"]
        its = {s: best[s]["refactor_solve_s"] for s in peers if best[s]}
        if not ours or not its:
            continue
        time, kind = ours["refactor_solve_s"], kind_of(ours)
        for s in its:
            found[s].append((its[s] / time, name, kind))
            if plain:
                bare[s].append((its[s] / plain["refactor_solve_s"], name, kind))
        least = min(its, key=its.get)
        found["best"].append((its[least] / time, name, kind))
        perturbed = f", perturbed {best[least]['perturbed']}" if best[least]["perturbed"] > 0 else ""
        cells = [ours["refactor_s"], time, plain and plain["refactor_solve_s"], *(its.get(s) for s in peers)]
        lines.append((its[least] / time, f"| {name} | {ours['n']} | {kind} | {ours['inertia'][2]} | {ours['delayed']} | "
                      + " | ".join(f"{1e3 * t:.3g}" if t and t < 1 else f"{1e3 * t:.0f}" if t else "" for t in cells)
                      + f" | {its[least] / time:.2f} | {TITLE[least]} {best[least]['setting']}{perturbed} |"))
    text = ["Peer's time over METAPACK's, geometric mean (how many below 0.9, of how many); METAPACK's classes.", "",
            "| refactorize + solve | all | " + " | ".join(KINDS) + " | worst |", "|---" * (len(KINDS) + 3) + "|"]
    text += [by_class(TITLE[s], found[s]) for s in peers] + [by_class("the best of them", found["best"])]
    text += [by_class(f"{TITLE[s]}, ours bare", bare[s]) for s in peers if bare[s]]
    return text + ["", "*Bare*: METAPACK without refinement and verdict; the driver refines it as it does the peers.", "",
                   "| matrix | n | class | zero pivots | rejected | refactorize | and solve | and solve, bare | "
                   + " | ".join(TITLE[s] for s in peers) + " | best peer / ours | its setting |", "|---|---:|---|" + "---:|" * (6 + len(peers)) + "---|",
                   *(line for _, line in sorted(lines)), ""]


def table(rows, threads, solvers):
    """Markdown lines of the per-matrix table and the means for one thread count."""
    peers = [s for s in solvers if s not in OURS]
    names = sorted({r["matrix"] for r in rows if r["threads"] == threads})
    lines = ["| matrix | n | nnz | GFLOP | " + " | ".join(TITLE[s] for s in solvers)
             + " | best peer / ours | analysis: " + " | ".join(TITLE[s] for s in solvers)
             + " | MB: " + " | ".join(TITLE[s] for s in solvers) + " |",
             "|---|" + "---:|" * (4 + 3 * len(solvers))]
    ratio, analysis, memory = collections.defaultdict(list), collections.defaultdict(list), collections.defaultdict(list)
    slow, wrong = [], []
    for name in names:
        best = {s: pick(rows, name, s, threads) for s in solvers}
        any_row = next((b for b in best.values() if b), None)
        if not any_row:
            wrong.append(name)
            continue
        ours = best.get("metapack")
        times = {s: best[s]["factor_solve_s"] for s in peers if best[s]}
        overall = min(times.values(), default=None)
        if ours:
            for s in times:
                ratio[s].append(times[s] / ours["factor_solve_s"])
                analysis[s].append(best[s]["analyse_s"] / max(ours["analyse_s"], 1e-6))
                if best[s]["peak_mb"] > 1 and ours["peak_mb"] > 1:
                    memory[s].append(best[s]["peak_mb"] / ours["peak_mb"])
            school = [times[s] for s in ("mumps", "mumps_metis", "ssids") if s in times]
            if school:
                ratio["best of MUMPS and SSIDS"].append(min(school) / ours["factor_solve_s"])
            if overall:
                ratio["best of all"].append(overall / ours["factor_solve_s"])
                if overall / ours["factor_solve_s"] < 0.7:
                    slow.append((overall / ours["factor_solve_s"], name))
        cells = [f"{best[s]['factor_solve_s'] * 1e3:.4g}" if best[s] else why_not(rows, name, s, threads) for s in solvers]
        flops = f"{ours['flops'] / 1e9:.3g}" if ours and ours["flops"] > 0 else ""
        lines.append(f"| {name} | {any_row['n']} | {any_row['nnz']} | {flops} | " + " | ".join(cells)
                     + (f" | {overall / ours['factor_solve_s']:.2f} | " if ours and overall else " |  | ")
                     + " | ".join(f"{best[s]['analyse_s'] * 1e3:.4g}" if best[s] else "" for s in solvers) + " | "
                     + " | ".join(f"{best[s]['peak_mb']:.4g}" if best[s] else "" for s in solvers) + " |")
    means = ["| peer / METAPACK, geometric mean | matrices | factorize + solve | analysis | memory |", "|---|---:|---:|---:|---:|"]
    for key in peers + ["best of MUMPS and SSIDS", "best of all"]:
        if ratio[key]:
            other = [geometric_mean(analysis[key]), geometric_mean(memory[key])]
            means.append(f"| {TITLE.get(key, key)} | {len(ratio[key])} | {geometric_mean(ratio[key]):.2f} | "
                         + " | ".join(f"{v:.2f}" if v == v else "" for v in other) + " |")
    text = [*means, ""]
    if slow:
        text += ["Slower than 0.7 of the best: " + ", ".join(f"{n} ({r:.2f})" for r, n in sorted(slow)) + ".", ""]
    big = []
    for name in names:
        ours = pick(rows, name, "metapack", threads)
        if ours and ours["peak_mb"] > 20 and ours["factor_nnz"] > 0:
            entry = 8 if ours["inertia"][0] + ours["inertia"][1] else 16  # complex symmetric has no inertia
            big.append((ours["peak_mb"] * 2**20 / (entry * ours["factor_nnz"]), name))
    if big:
        text += [f"METAPACK's peak memory beyond the input, where it exceeds 20 MB: {geometric_mean([b for b, _ in big]):.2f} times "
                 "the entries of L in the geometric mean; above 1.6 times: "
                 + (", ".join(f"{n} ({b:.1f})" for b, n in sorted(big, reverse=True) if b > 1.6) or "none") + ".", ""]
    if wrong:
        text += ["No solver reached 1e-14: " + ", ".join(wrong) + ".", ""]
    return text + ["Milliseconds of factorize + solve, then of the analysis; memory beyond the input.", "", *lines, ""]


def report(options, rows):
    solvers = [s for s in SETTINGS if any(r["solver"] == s for r in rows)]
    versions = {s: next((r["version"] for r in rows if r["solver"] == s and r.get("version", "?") != "?"), "?") for s in solvers}
    settings = "; ".join(f"{TITLE[s]}: {', '.join(SETTINGS[s])}" for s in solvers)
    text = ["# The direct solver beside its peers", "",
            f"Made by `{' '.join(['bench/direct.py'] + [os.path.basename(a) or a for a in sys.argv[1:]])}` on "
            f"{datetime.date.today()}: {machine()}.",
            "Versions: " + ", ".join(f"{TITLE[s]} {versions[s]}" for s in solvers)
            + "; OpenBLAS " + (command_output("pkg-config", "--modversion", "openblas").strip() or "?") + ".", "",
            "On each matrix every solver runs with each of its settings (" + settings + "), and the fastest one that is right",
            "counts: componentwise backward error at most 1e-14 for b = A·1 after at most two refinements, judged by the same",
            "code for all. The times of peers leave out the residuals of that judgement; ours includes its own. One warm-up,",
            f"then {'minima' if options.minima else 'medians'} of {options.repeats} (fewer where {options.seconds:g} s were used up)."
            + " The settings were those that had won an earlier sweep over all of them." * bool(options.winners)
            + f" Beside {options.busy} busy processes." * (options.busy > 0), ""]
    for threads in sorted({r["threads"] for r in rows}, reverse=True):
        title = f"{threads} thread{'s' * (threads > 1)}"
        text += [f"## {title}", "", "### A first factorization and a solve", "", *table(rows, threads, [s for s in solvers if s != "metapack_bare"]),
                 "### A refactorization and a solve", "", *refactorizations(rows, threads, solvers)]
    os.makedirs(os.path.dirname(os.path.abspath(options.report)), exist_ok=True)
    with open(options.report + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(text))
    os.replace(options.report + ".part", options.report)
    print(f"wrote {options.report}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", default="*", help="matrices, by a shell pattern")
    parser.add_argument("--solvers", help="comma-separated; default: all that were built")
    parser.add_argument("--threads", default="2,1")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=8, help="for the repetitions of one run")
    parser.add_argument("--timeout", type=float, default=120, help="of one run")
    parser.add_argument("--max-mb", type=float, default=0, help="leave out larger matrices (raw size)")
    parser.add_argument("--generate", action="append", metavar="SPEC", help="one more generated matrix")
    parser.add_argument("--busy", type=int, default=0, metavar="K", help="keep K cores busy meanwhile")
    parser.add_argument("--fresh", action="store_true", help="forget earlier rows")
    parser.add_argument("--again", metavar="SOLVERS", help="forget the earlier rows of these solvers")
    parser.add_argument("--results", help="rows, default BUILD/bench/results.jsonl")
    parser.add_argument("--winners", metavar="FILE", help="rows of an earlier sweep: each solver runs with the setting that won there")
    parser.add_argument("--minima", action="store_true", help="report minima, not medians: for a machine that others use")
    parser.add_argument("--clock", choices=["wall", "cpu"], default="wall",
                        help="cpu: all threads' time on the processor, for a machine that others use")
    parser.add_argument("--report", help="write the table here")
    options = parser.parse_args()
    options.thread_list = sorted({int(t) for t in options.threads.split(",")})
    others = [busy() for _ in range(options.busy)]
    try:
        rows = measure(options, options.results or os.path.join(options.build, "bench", "results.jsonl"))
    finally:
        for process in others:
            process.kill()
    if options.minima:
        keys = ("analyse_s", "factor_s", "solve_s", "plain_solve_s", "factor_solve_s", "refactor_s", "refactor_solve_s")
        rows = [dict(r, **{key: r["min_" + key] for key in keys if "min_" + key in r}) for r in rows]
    if options.report and rows:
        report(options, rows)


if __name__ == "__main__":
    main()
