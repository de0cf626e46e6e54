#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A GPU behind the accelerator interface, beside the engine for GPUs and the processor's table.

    bench/accelerator_gpu.py device [--build build] [--seconds 420] [--out FOLDER]    rows, on a machine with a GPU
    bench/accelerator_gpu.py report FILE.jsonl [--report bench/results/accelerator-gpu.md]

`device` needs BUILD/bench/cuda-accelerator and the CUDA module; a table goes to standard output, rows to FOLDER/accelerator-gpu.jsonl.
Each row is checked (backward error, inertia) before it is timed. Matrices are all of data/ but data/tiny, and generated ones."""
import argparse, glob, json, os, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GENERATED = ["nlpkkt 8", "nlpkkt 12", "nlpkkt 16", "helmholtz 2d 100 0.3", "helmholtz 2d 200 0.3", "stokes mac 60", "optimal-control 2000", "lp-kkt 2000 4000",
             "quasi-definite 100"]
WHERE = ["engine:32", "cuda:32:subsets", "cuda:32:atomic", "cuda:16:subsets", "cuda:8:subsets", "cpu:32"]


def matrices():
    files = sorted(glob.glob(os.path.join(ROOT, "data/*/*.mtx.xz")))
    return [[f] for f in files if not f.endswith("_b.mtx.xz") and "/tiny/" not in f] + [["generate", g] for g in GENERATED]


def rows_of(options, words, where):
    """One process for each, so that no failure takes others along."""
    program = os.path.join(options.build, "bench/cuda-accelerator")
    if not os.path.exists(program):
        program = os.path.join(options.build, "bench_cuda_accelerator")
    try:
        got = subprocess.run([program, "--repeat", "3", *words, where], capture_output=True, text=True, timeout=options.each)
        lines = [json.loads(line) for line in got.stdout.splitlines() if line.startswith("{")]
        if lines:
            return lines
        why = (got.stderr.strip().splitlines() or [f"ended with {got.returncode}"])[-1]
    except subprocess.TimeoutExpired:
        why = f"> {options.each} s"
    name, *rest = where.split(":")
    return [{"matrix": words[-1], "where": name, "block": int(rest[0]), "schedule": rest[1] if len(rest) > 1 else "-", "failed": why}]


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


def device(options):
    began, rows = time.time(), []
    out = os.path.join(options.out, "accelerator-gpu.jsonl")
    with open(out, "w", encoding="utf-8") as file:
        for words in matrices():
            for where in WHERE:
                if time.time() - began > options.seconds:
                    print("time is over before", short(words[-1]), where)
                    print("\n".join(table(rows)))
                    return
                for row in rows_of(options, words, where):
                    rows.append(row)
                    file.write(json.dumps(row) + "\n")
                    file.flush()
    print("\n".join(table(rows)))


def report(options):
    rows = [json.loads(line) for line in open(options.file, encoding="utf-8")]
    lines = ["# A GPU behind the accelerator interface", "",
             f"Made by `bench/accelerator_gpu.py` of rows measured on {options.machine}. Milliseconds of a factorization with new values, the least of",
             "three: complete, as many stages as it takes. *engine*: `device = cuda`, which has the whole algorithm on the GPU, blocks of up to 32 rows.",
             "*interface*: `mpk_accelerator_cuda()`, downdates in subsets, blocks padded to 32, 16 or 8 rows; then the same with atomic additions. The",
             "times have the transfer of A's blocks there and of the factor back, which the interface makes for solves on the processor. *queueing*: the",
             "host's time in the calls of kernels.", "", *table(rows), ""]
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
    parser.add_argument("--each", type=float, default=60, help="seconds for a row")
    parser.add_argument("--out", default=".")
    parser.add_argument("--machine", default="an NVIDIA H200")
    parser.add_argument("--report", default=os.path.join(ROOT, "bench/results/accelerator-gpu.md"))
    options = parser.parse_args()
    (device if options.what == "device" else report)(options)


if __name__ == "__main__":
    sys.exit(main())
