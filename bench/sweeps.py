#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near to the memory's bandwidth the triangular sweeps on blocks run (bench/sweeps.c).

    bench/sweeps.py [MATRICES] [--build build] [--report bench/results/incomplete.md]

Factors larger than the caches, on one thread and on two; writes its section of the report."""
import fnmatch, json, os, subprocess

from incomplete import arguments, find, keep, write_section

PUBLISHED = "strategy=br,ordering=amd,level=0,fill-factor=8,drop-tolerance=1e-4,pivoting=bk"
COMPLETE = "strategy=rb,level=-1,fill-factor=0,drop-tolerance=0"
CASES = [("generate nlpkkt 50", "BR, level 0, fill 8, τ 1e-4", PUBLISHED),
         ("generate lin", "RB, level 0, nothing dropped", "strategy=rb,level=0,fill-factor=0,drop-tolerance=0"),
         ("generate helmholtz 2d 700", "RB, level 2, nothing dropped", "strategy=rb,level=2,fill-factor=0,drop-tolerance=0"),
         ("generate lp-kkt 30000 60000 coupling=local", "RB, complete", COMPLETE)]


def main():
    options = arguments(__doc__).parse_args()
    rows, lines = [], []
    for matrix, told, words in CASES:
        if not fnmatch.fnmatch(matrix, options.only):
            continue
        for threads in (2, 1):
            source = matrix if matrix.startswith("generate ") else (find(options, matrix) or [""])[0]
            command = [os.path.join(options.build, "bench/sweeps"), source, str(threads), "method=ildlt," + words]
            try:
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                row = json.loads(done.stdout)
            except (subprocess.TimeoutExpired, ValueError) as why:
                print(f"{matrix}: {type(why).__name__}")
                continue
            rows.append(row)
            lines.append(f"| {matrix.replace('generate ', '')} | {told} | {row['bytes'] / 1e6:.0f} | {row['levels']} | {threads} | "
                         f"{row['forward_gbs']:.1f} | {row['backward_gbs']:.1f} | {row['apply_gbs']:.1f} | "
                         f"{row['read_gbs']:.1f} | {row['apply_gbs'] / row['read_gbs']:.2f} |")
            print(lines[-1], flush=True)
    keep(options, "sweeps", rows)
    good = sum(row["apply_gbs"] >= row["read_gbs"] / 2 for row in rows)
    write_section(options, "sweeps", "Bandwidth of the triangular sweeps", [
        "One forward and one backward sweep of the application of a factor: bytes of the stored blocks (masks and values, pivot",
        "blocks included) over the fastest of nine, beside reading as many bytes with as many threads in turn with them. Each of",
        "the two as `mpk_solve_part` has it, permuting in and out; *both*: L, D and Lᵀ in one call, as a Krylov method applies",
        f"them. Vectors, index and permutation are not in the bytes, but in the time. Half of the bandwidth of reading, which is "
        f"the aim: on {good} of {len(rows)}.", "",
        "| matrix | factor | MB | level sets | threads | forward GB/s | backward GB/s | both GB/s | reading GB/s | both / reading |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|", *lines])


if __name__ == "__main__":
    main()
