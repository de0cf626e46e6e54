#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""CG with preconditioners of increasing effort: Thuerck 2021, fig. 3.3, made anew.

    bench/preconditioners.py [--build build] [--report bench/results/preconditioners.md]

The matrix of the figure, thermal2, cannot be had; in its place a five-point Laplacian, in AMD's order as well. None,
the diagonal, blocks of 16 x 16, SSOR (ours), IC(0), and an incomplete Cholesky factor with drop tolerance 0.01."""
import os, random, tempfile

import chart
from incomplete import arguments, converged, iterations, machine, solve, version

SIDE = 400
MATRIX = f"helmholtz 2d {SIDE} 0"
HERE = os.path.dirname(os.path.abspath(__file__))
AMD = ["--ordering", "amd"]
CASES = [("none", ["--method", "none", "--scaling", "off"]),
         ("diagonal", ["--method", "diagonal"]),
         ("block Jacobi 16", ["--method", "block_jacobi", "--block", "16", "--grid", "--strategy", "rb", *AMD]),
         ("SSOR", ["--method", "ssor", *AMD]),
         ("IC(0)", ["--method", "ilu0", "--factor-type", "llt", *AMD]),
         ("IC(0), natural order", ["--method", "ilu0", "--factor-type", "llt", "--ordering", "natural"]),
         ("IC(0.01)", ["--method", "ildlt", "--block", "1", "--level", "-1", "--drop-tolerance", "0.01", "--fill-factor", "0",
                       "--pivoting", "none", "--matching", "off", "--factor-type", "llt", *AMD])]


def right_hand_side(path):
    """Random: that of A times ones would share the symmetries of the grid, and CG would see few of its eigenvalues."""
    draw = random.Random(1)
    with open(path, "w") as file:
        file.write(f"%%MatrixMarket matrix array real general\n{SIDE * SIDE} 1\n")
        file.writelines(f"{draw.gauss(0, 1):.17g}\n" for _ in range(SIDE * SIDE))


def main():
    parser = arguments(__doc__)
    parser.set_defaults(report=os.path.join(HERE, "results/preconditioners.md"), threads=1)
    options = parser.parse_args()
    lines, histories = [], {}
    with tempfile.TemporaryDirectory() as folder:
        rhs = os.path.join(folder, "b.mtx")
        right_hand_side(rhs)
        run(options, rhs, lines, histories)
    write(options, lines, histories)


def run(options, rhs, lines, histories):
    for name, words in CASES:
        row = solve(options, ["--generate", MATRIX],
                    ["--rhs", rhs, "--krylov", "cg", "--tolerance", "1e-10", "--max-iterations", "5000", *words], timeout=120)
        if "failed" in row:
            lines.append(f"| {name} | {row['failed']} | | | | | | |")
            print(lines[-1], flush=True)
            continue
        k = row["krylov"]
        entries = (row.get("blocks") or {}).get("kept", 0) + row["n"]
        applications = max(1, k["applications"])
        lines.append(f"| {name} | {iterations(row)}{'' if converged(row, 1e-10) else ' †'} | {row['relative_residual']:.0e} | "
                     f"{entries / row['nnz']:.2f} | {row['time_s']['factorize']:.3f} | {row['time_s']['solve']:.3f} | "
                     f"{1e3 * k['time_product_s'] / max(1, k['products']):.2f} | "
                     f"{1e3 * k['time_precondition_s'] / applications:.2f} |")
        print(lines[-1], flush=True)
        histories[name] = (k.get("history") or [], k.get("history_stride") or 1)


def write(options, lines, histories):
    chartable = [len(h) * stride for h, stride in histories.values() if h]
    picture = os.path.splitext(options.report)[0] + "-fig3-3.svg"
    if chartable:
        marks = [max(1, round(max(chartable) * k / 12)) for k in range(13)]
        series = [{"name": name, "y": [h[m // stride - 1] if stride <= m and m // stride <= len(h) else None for m in marks]}
                  for name, (h, stride) in histories.items()]
        chart.draw(picture, [{"title": f"{MATRIX}: relative residual of CG", "ticks": [str(m) for m in marks],
                              "series": series, "log": True, "label": "iterations"}], list(histories))
    with open(options.report, "w") as out:
        out.write("\n".join([
            "# CG with preconditioners of increasing effort", "",
            f"Made by `bench/preconditioners.py`: METAPACK {version(options)}, {machine()}.", "",
            "Thuerck 2021, fig. 3.3, made anew. Its matrix, thermal2, could not be had: here a five-point Laplacian of 400 x 400",
            "points (n = 160000) in AMD's order, but for one, and a random right-hand side. CG to a relative residual of 1e-10 on one thread. Fill: entries",
            "of L with its diagonal for each of A's lower triangle. Milliseconds of one product with A, and of one application.",
            "† not reached.", "",
            "| preconditioner | iterations | residual | fill | factorize s | solve s | product ms | application ms |",
            "|---|---:|---:|---:|---:|---:|---:|---:|", *lines, "",
            *([f"![residuals]({os.path.basename(picture)})", ""] if chartable else [])]))


if __name__ == "__main__":
    main()
