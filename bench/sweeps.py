#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How near to the memory's bandwidth the triangular sweeps on blocks run (bench/sweeps.c).

    bench/sweeps.py [MATRICES] [--build build] [--report bench/results/incomplete.md]

Factors larger than the caches, on one thread and on two; writes its section of the report."""
import fnmatch, json, os, subprocess

from incomplete import arguments, find, keep, write_section

PUBLISHED = "strategy=br,ordering=amd,level=0,fill-factor=8,drop-tolerance=1e-4,pivoting=bk"
COMPLETE = "strategy=rb,level=-1,fill-factor=0,drop-tolerance=0"
THRESHOLD = "strategy=rb,level=-1,fill-factor=0,drop-tolerance=1e-3"
ILDLT, ILU0 = "method=ildlt,", "method=ilu0"
CASES = [("generate nlpkkt 50", "BR, level 0, fill 8, τ 1e-4", ILDLT + PUBLISHED),
         ("generate lin", "RB, level 0, nothing dropped", ILDLT + "strategy=rb,level=0,fill-factor=0,drop-tolerance=0"),
         ("generate helmholtz 2d 700", "RB, level 2, nothing dropped",
          ILDLT + "strategy=rb,level=2,fill-factor=0,drop-tolerance=0"),
         ("generate lp-kkt 30000 60000 coupling=local", "RB, complete", ILDLT + COMPLETE),
         ("generate stokes mac 183", "RB, level ∞, τ 1e-3", ILDLT + THRESHOLD),
         ("qp_kkt/cont-201", "RB, level ∞, τ 1e-5", ILDLT + "strategy=rb,level=-1,fill-factor=0,drop-tolerance=1e-5"),
         ("generate nlpkkt 40", "BR, level 1, fill 8, single", ILDLT + "precision=single,strategy=br,ordering=amd,level=1,fill-factor=8"),
         ("generate quasi-definite 300", "RBR, level 2, nothing dropped", ILDLT + "strategy=rbr,level=2,fill-factor=0,drop-tolerance=0")]
SCALARS = [("generate lin nx=20 ny=20 nz=20", "ilu0", ILU0), ("generate lin 5", "ilu0", ILU0), ("generate lin 20", "ilu0", ILU0), ("generate lin", "ilu0", ILU0),
           ("generate nlpkkt 50", "ilu0", ILU0), ("generate helmholtz 2d 700", "ssor", "method=ssor")]


def measure(options, matrix, words, threads):
    source = matrix if matrix.startswith("generate ") else (find(options, matrix) or [""])[0]
    command = [os.path.join(options.build, "bench/sweeps"), source, str(threads), words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=240)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError) as why:
        print(f"{matrix}: {type(why).__name__}")
        return None


def main():
    options = arguments(__doc__).parse_args()
    rows, lines, scalars = [], [], []
    for cases in (CASES, SCALARS):
        for matrix, told, words in cases:
            for threads in (2, 1):
                row = measure(options, matrix, words, threads) if fnmatch.fnmatch(matrix, options.only) else None
                if not row:
                    continue
                row.update(case=told, matrix=matrix)
                name = matrix.replace("generate ", "")
                if cases is CASES:
                    rows.append(row)
                    lines.append(f"| {name} | {told} | {row['held']} | {row['bytes'] / 1e6:.0f} | {row['levels']} | {threads} | "
                                 f"{row['forward_gbs']:.1f} | {row['backward_gbs']:.1f} | {row['apply_gbs']:.1f} | "
                                 f"{row['moved_gbs']:.1f} | {row['read_gbs']:.1f} | {row['moved_gbs'] / row['read_gbs']:.2f} | "
                                 f"{1e3 * row['blocks_apply_s']:.1f} | {1e3 * row['apply_s']:.1f} | "
                                 f"{row['blocks_factor_bytes'] / 1e6:.0f} | {row['factor_bytes'] / 1e6:.0f} |")
                else:
                    scalars.append(f"| {name} | {told} | {row['n']} | {threads} | {1e3 * row['product_s']:.3f} | "
                                   f"{1e3 * row['blocks_apply_s']:.3f} | {1e3 * row['apply_s']:.3f} | "
                                   f"{row['blocks_apply_s'] / row['product_s']:.1f} | {row['apply_s'] / row['product_s']:.1f} |")
                print((lines if cases is CASES else scalars)[-1], flush=True)
    keep(options, "sweeps", rows)
    best = {r["case"] + r["matrix"] for r in rows if r["moved_gbs"] >= r["read_gbs"] / 2}
    good = sum(row["moved_gbs"] >= row["read_gbs"] / 2 for row in rows)
    print(f"half of the bandwidth: {good} of {len(rows)} rows, {len(best)} factors")
    write_section(options, "sweeps", "Bandwidth of the triangular sweeps", [
        "One forward and one backward sweep of the application of a factor: bytes that a sweep reads (rows, or where the factor",
        "stays in blocks masks and values, pivot blocks included) over the fastest of fifteen, beside reading as many bytes with as",
        "many threads in turn with them. Each of the two as `mpk_solve_part` has it, permuting in and out; *both*: L, D and Lᵀ in",
        "one call, as a Krylov method applies them; *moved*: with what that reads and writes of vectors, scales and places, which are",
        "in the time of the others, too, but not in their bytes. *Before*: the",
        "same factor left in blocks, as all were until rows came, in the same turns of the same process. Half of the bandwidth of",
        f"reading, which is the aim: on {good} of {len(rows)}, counting either number of threads; on {len(best)} of "
        f"{len({r['case'] + r['matrix'] for r in rows})} factors with the better one.",
        "Where other programs are at work, sweeps wait for the slower thread, or stay on one, while reading has both.", "",
        "| matrix | factor | held as | MB | level sets | threads | forward GB/s | backward GB/s | both GB/s | moved GB/s | reading GB/s | "
        "moved / reading | before ms | both ms | before factor MB | factor MB |",
        "|---|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|", *lines, "",
        "Scalars: one application beside a product with A, both triangles by rows, on as many threads. *Before*: in blocks of 1 x 1.",
        "", "| matrix | method | n | threads | product ms | before ms | application ms | before / product | application / product |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|", *scalars])


if __name__ == "__main__":
    main()
