#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Complex batches on a processor, by borgc's kernels and by the portable ones.

    bench/borg_complex.py BUILD PORTABLE [--turns 3] [--report bench/results/borg-complex.md]

BUILD is a build with all orders, PORTABLE one with -DMETAPACK_EMITTED_KERNELS=OFF (or one that has none of complex matrices); their
libraries run bench/batch/complex.c by turns, at both levels of instructions (METAPACK_CPU). Writes the report."""
import argparse, os, subprocess, tempfile

from incomplete import command, machine

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
ROWS = [("LLᴴ", 0, 0, 1, (4, 8, 12)), ("LLᴴ, complete", 0, 4, 1, (4, 8)), ("LDLᵀ", 1, 0, 0, (4, 8, 12)), ("LDLᴴ", 1, 0, 1, (4, 8, 12)),
        ("LDLᵀ, partial", 1, 2, 0, (4, 8)), ("LDLᴴ, partial", 1, 2, 1, (4, 8)), ("LDLᵀ, rook", 1, 3, 0, (4, 8)), ("LDLᵀ, complete", 1, 4, 0, (4, 8)),
        ("LDLᴴ, complete", 1, 4, 1, (4, 8)), ("LDU", 2, 0, 0, (4, 8, 12)), ("LDU, partial", 2, 2, 0, (4, 8)), ("LDU, complete", 2, 4, 0, (4,))]
LEVELS = ["avx512", "avx2"]


def times(program, library, level, row, kind):
    _, method, pivoting, symmetry, orders = row
    done = subprocess.run([program, *map(str, (method, pivoting, symmetry)), kind, *map(str, orders)], capture_output=True, text=True,
                          env=dict(os.environ, LD_LIBRARY_PATH=library, METAPACK_CPU=level), check=True)
    return {int(n): float(ns) for n, ns in map(str.split, done.stdout.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("portable")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--report", default=os.path.join(ROOT, "bench/results/borg-complex.md"))
    o = parser.parse_args()
    lines, worst = [], None
    with tempfile.TemporaryDirectory() as where:
        program = os.path.join(where, "complex")
        subprocess.run(["cc", "-O2", f"-I{ROOT}/include", f"{ROOT}/bench/batch/complex.c", "-o", program, f"-L{os.path.abspath(o.build)}", "-l:libmetapack.so.0"],
                       check=True)
        for row in ROWS:
            least = {}
            for _ in range(o.turns):
                for level in LEVELS:
                    for kind in "zc":
                        for side, library in enumerate((o.build, o.portable)):
                            for n, ns in times(program, os.path.abspath(library), level, row, kind).items():
                                key = n, level, kind, side
                                least[key] = min(ns, least.get(key, ns))
            for n in row[4]:
                cells = []
                for level in LEVELS:
                    for kind in "zc":
                        new, old = least[n, level, kind, 0], least[n, level, kind, 1]
                        cells += [f"{old:.0f}", f"{new:.0f}", f"{old / new:.1f}"]
                lines.append(f"| {row[0]} | {n} | " + " | ".join(cells) + " |")
                print(lines[-1], flush=True)
    head = ["# Complex batches by borgc's kernels, on a processor", "",
            f"`{command()}`: {machine()}; other work ran beside, so these are nanoseconds of processor time of a matrix, the least of {o.turns} × 7 runs over 4096 random matrices, the two",
            "libraries by turns. *Portable*: complex products one by one. Where they are equal, borgc has no kernel ([batch.md](../../docs/design/batch.md)). Not taken: order 12 with",
            "pivots (AVX-512, z: LDLᵀ partial 633 ns, complete 770, LDLᴴ partial 531, in 240 to 320 kB of code each), order 16 (partial 1511 ns, 500 kB) and rows in lanes (order 12 1777 ns,",
            "16 2839).", "",
            "| factorization | order | AVX-512, z: portable | borgc | gain | c: portable | borgc | gain | AVX2, z: portable | borgc | gain | c: portable | borgc | gain |",
            "|---|---:|" + "---:|" * 12]
    with open(o.report, "w", encoding="utf-8") as file:
        file.write("\n".join([*head, *lines]) + "\n")


if __name__ == "__main__":
    main()
