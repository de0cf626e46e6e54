#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A GPU behind the accelerator interface, beside the engine for GPUs and the processor's table.

    bench/accelerator_gpu.py device [--build build] [--seconds 420] [--out FOLDER]    rows, on a machine with a GPU
    bench/accelerator_gpu.py report FILE.jsonl [--report bench/results/accelerator-gpu.md]

`device` needs BUILD/bench/cuda-accelerator and the CUDA module; a table goes to standard output, rows to FOLDER/accelerator-gpu.jsonl.
Each row is checked (backward error, inertia) before it is timed. Matrices are all of data/ but data/tiny, and generated ones; where the
time is over before the last one, a row names those that are left, {"left": [...]}, and the page says so; the processor's come last."""
import argparse, glob, json, math, os, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = ["helmholtz 2d 100 0.3 absorbing", "random 1000 0.002 0.3 hermitian", "nlpkkt 8", "nlpkkt 12", "nlpkkt 16", "helmholtz 2d 100 0.3", "helmholtz 2d 200 0.3", "stokes mac 60", "optimal-control 2000", "lp-kkt 2000 4000",
             "quasi-definite 100"]
THERE = ["engine:32", "cuda:32:subsets", "cuda:32:atomic", "cuda:16:subsets", "cuda:8:subsets"]
HERE = ["cpu:32:subsets"]


def matrices():
    files = sorted(glob.glob(os.path.join(ROOT, "data/*/*.mtx.xz")))
    small = [[f] for f in files if not f.endswith("_b.mtx.xz") and "/tiny/" not in f]
    return [m for pair in zip(small, [["generate", g] for g in GENERATED]) for m in pair] + small[len(GENERATED):]


def rows_of(options, words, places):
    """One process for a matrix; what it did not come to failed as it did."""
    program = os.path.join(options.build, "bench/cuda-accelerator")
    try:
        got = subprocess.run([program, "--repeat", "3", *words, *places], capture_output=True, text=True, timeout=options.each)
        text, why = got.stdout, (got.stderr.strip().splitlines() or [f"ended with {got.returncode}"])[-1]
    except subprocess.TimeoutExpired as late:
        text, why = (late.stdout or b"").decode(), f"> {options.each:.0f} s"
    rows = [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]
    for where in places[len(rows):]:
        name, block, schedule = (where + ":-").split(":")[:3]
        rows.append({"matrix": words[-1], "where": name, "block": int(block), "schedule": schedule, "failed": why})
    return rows


def short(name):
    return name if not name.endswith(".mtx.xz") else "/".join(name.split("/")[-2:])[:-7]


def cell(row):
    if not row:
        return "-"
    return row["failed"][:60] if "failed" in row else f"{1e3 * row['warm_s']:.2f}"


def table(rows):
    keys = [("engine", 32, "-"), ("cuda", 32, "subsets"), ("cuda", 32, "atomic"), ("cuda", 16, "subsets"), ("cuda", 8, "subsets"), ("cpu", 32, "subsets")]
    by = {}
    for row in rows:
        by.setdefault(short(row["matrix"]), {})[(row["where"], row["block"], row["schedule"])] = row
    lines = ["| matrix | n | blocks | stages | engine | interface, 32 | by atomics | 16 | 8 | processor | of it queueing | waits | launches | worst error | inertia |",
             "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|---|"]
    for name, got in by.items():
        mine = got.get(keys[1]) or {}
        there = [r for r in got.values() if "failed" not in r]
        inertia = {(r["positive"], r["negative"]) for r in there}
        lines.append("| " + " | ".join([
            name, str(mine.get("n", "-")), str(mine.get("blocks", "-")), str(mine.get("stages", "-")), *[cell(got.get(k)) for k in keys],
            f"{1e3 * mine['queued_s']:.2f}" if "queued_s" in mine else "-", str(mine.get("waits", "-")), str(mine.get("launches", "-")),
            f"{max((r['componentwise'] for r in there), default=float('nan')):.1e}", "the same" if len(inertia) == 1 else str(sorted(inertia))]) + " |")
    return lines


def solves(rows):
    """The table of solves: by the engine, by the interface in blocks of 32, and where the processor factorized."""
    by = {}
    for row in rows:
        if row["block"] == 32 and row["schedule"] in ("-", "subsets") and "solve_s" in row:
            by.setdefault(short(row["matrix"]), {})[row["where"]] = row
    lines = ["| matrix | n | engine, 1 | interface, 1 | processor, 1 | engine, 32 | interface, 32 | processor, 32 |", "|---|--:|--:|--:|--:|--:|--:|--:|"]
    for name, got in by.items():
        cells = [f"{1e3 * got[who][what]:.2f}" if who in got else "-" for what in ("solve_s", "solves_s") for who in ("engine", "cuda", "cpu")]
        lines.append("| " + " | ".join([name, str(next(iter(got.values()))["n"]), *cells]) + " |")
    return lines


def solve_summary(rows):
    """How the interface's solves stand to the others': means and worst rows."""
    by, lines = {}, []
    for row in rows:
        if row["block"] == 32 and row["schedule"] in ("-", "subsets") and "solve_s" in row:
            by.setdefault(short(row["matrix"]), {})[row["where"]] = row
    for what, many in (("solve_s", "one right-hand side"), ("solves_s", "32")):
        for other, words in (("engine", "the engine's"), ("cpu", "the processor's")):
            ratio = {name: got["cuda"][what] / got[other][what] for name, got in by.items() if "cuda" in got and other in got}
            if ratio:
                mean = math.exp(sum(math.log(r) for r in ratio.values()) / len(ratio))
                worst = max(ratio, key=ratio.get)
                lines.append(f"With {many} the interface's solve takes {mean:.2f} times {words} time in the geometric mean of {len(ratio)}, at worst "
                             f"{ratio[worst]:.1f} ({worst}).")
    return lines


def ratios(rows):
    """How many times the engine's time the interface takes, in blocks of 32 by subsets: by matrix."""
    by = {}
    for row in rows:
        if row["block"] == 32 and row["schedule"] in ("-", "subsets") and "failed" not in row:
            by.setdefault(short(row["matrix"]), {})[row["where"]] = 1e3 * row["warm_s"]
    return {name: (got["cuda"] / got["engine"], got["engine"], got["cuda"]) for name, got in by.items() if "cuda" in got and "engine" in got}


def summary(rows, left):
    """Sentences below the table: the mean and the worst, and what the time did not suffice for."""
    lines, ratio = [], ratios(rows)
    if ratio:
        mean = math.exp(sum(math.log(r[0]) for r in ratio.values()) / len(ratio))
        worst = max(ratio, key=lambda name: ratio[name][0])
        lines += [f"The interface, in blocks of 32 by subsets, takes {mean:.1f} times as long as the engine in the geometric mean of the {len(ratio)} matrices, at",
                  f"worst {ratio[worst][0]:.1f} times ({worst}: {ratio[worst][2]:.2f} ms for {ratio[worst][1]:.2f})."]
    if left:
        generated = sum(name in GENERATED for name in left)
        what = f"{len(left) - generated} matrices of data/" + (f" and {generated} generated ones" if generated else "")
        lines += [f"The time of the run was over then. {what} were not run, and count in none of this:", ", ".join(left) + "."]
    return [*lines, ""] if lines else []


def device(options):
    """All matrices on the device first; then, those first that were quick there, on the processor, as long as there is time."""
    began, rows, cases = time.time(), [], matrices()
    out = os.path.join(options.out, "accelerator-gpu.jsonl")

    def run(words, places):
        mine = rows_of(options, words, places)
        rows.extend(mine)
        file.write("".join(json.dumps(row) + "\n" for row in mine))
        file.flush()
        return sum(row.get("warm_s", options.each) for row in mine)

    with open(out, "w", encoding="utf-8") as file:
        took = {}
        for at, words in enumerate(cases):
            if time.time() - began > options.seconds:
                left = [short(w[-1]) for w in cases[at:]]
                print("time is over before", ", ".join(left))
                file.write(json.dumps({"left": left}) + "\n")
                break
            took[at] = run(words, THERE)
        for at in sorted(took, key=took.get):
            if time.time() - began > options.seconds:
                break
            run(cases[at], HERE)
    print("\n".join([*table(rows), "", *summary(rows, []), *solves(rows), "", *solve_summary(rows)]))


def report(options):
    rows = [json.loads(line) for line in open(options.file, encoding="utf-8")]
    left = [name for row in rows for name in row.get("left", [])]
    rows = [row for row in rows if "left" not in row]
    picture = "accelerator-gpu-fig8-4.svg"
    drawn = os.path.exists(os.path.join(os.path.dirname(options.report), picture))
    lines = ["# A GPU behind the accelerator interface", "",
             f"Made by `bench/accelerator_gpu.py` of rows {'measured on ' + options.machine if rows else 'of `bench/cuda-accelerator`'}. Milliseconds of a factorization with new values, the least of",
             "three: complete, as many stages as it takes. *engine*: `device = cuda`, which has the whole algorithm on the GPU, blocks of up to 32 rows.",
             "*interface*: `mpk_accelerator_cuda()`, downdates in subsets, blocks padded to 32, 16 or 8 rows; then the same with atomic additions. The",
             "times have the transfer of A's blocks there and of the factor back, which the interface makes for all that the processor does with it. *queueing*: the",
             "host's time in the calls of kernels; the processor's rows come last, as far as the time goes (-: it did not).", "", *(table(rows) if rows else ["No machine with a GPU has made the rows yet."]), "", *summary(rows, left)]
    if any(len({(r["positive"], r["negative"]) for r in rows if r["matrix"] == m and "failed" not in r}) > 1 for m in {r["matrix"] for r in rows}):
        lines += ["Where inertias differ the matrix is singular to working precision, and a zero eigenvalue has the sign of a rounding (cvxqp1_m has 1, stokes64 2, dualc5 270).", ""]
    if any("solve_s" in row for row in rows):
        lines += ["## Solves", "", "Milliseconds of x := A⁻¹ b without refinement, b and x in the host's memory, the least of three; *processor*: of the factor that its",
                  "own table made, by the processor's engine. The interface's solve is a batch of one launch for each level set and part of a step, with blocks padded",
                  "to 32 rows and a block of 32 right-hand sides whether they are asked for or not, so that one costs nearly what 32 do.", "", *solves(rows), "", *solve_summary(rows), ""]
    if drawn:
        lines += ["## Fig. 8.4, with real overlap", "", "Executor, inspector and the GPU by its own clock, of a factorization in two stages", "(`metapack solve --generate "
                  "'random 400 0.02 0.3' --backend cuda-interface --stages 3 --trace FILE.svg`).", "", f"![trace]({picture})", ""]
    with open(options.report + ".part", "w", encoding="utf-8") as file:
        file.write("\n".join(lines))
    os.replace(options.report + ".part", options.report)
    print("wrote", os.path.relpath(options.report))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["device", "report"])
    parser.add_argument("file", nargs="?")
    parser.add_argument("--build", default="build")
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--each", type=float, default=20, help="seconds for a matrix")
    parser.add_argument("--out", default=".")
    parser.add_argument("--machine", default="an NVIDIA H200")
    parser.add_argument("--report", default=os.path.join(ROOT, "bench/results/accelerator-gpu.md"))
    options = parser.parse_args()
    (device if options.what == "device" else report)(options)


if __name__ == "__main__":
    sys.exit(main())
