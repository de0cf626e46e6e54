#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kernels of singular matrices: how many vectors F.null_space() finds, how good they are, what they cost.

Every Matrix Market file below FOLDER whose factor has zero pivots. Where n <= --svd the numerical rank by a dense SVD,
of A as given and of S A S, at n eps times the largest singular value.
usage: PYTHONPATH=build/python bench/null_space.py [--svd 3000] [--most 60000] [--report FILE] FOLDER ..."""
import argparse
import pathlib
import sys
import time
import warnings

import numpy as np

import pymetapack as mp


def nullity(a):
    s = np.linalg.svd(a, compute_uv=False)
    return int((s <= len(a) * np.finfo(float).eps * s[0]).sum())


def row(name, a, most_svd):
    begin = time.perf_counter()
    F = mp.ldl(a, singular="ignore")
    factor = time.perf_counter() - begin
    zero = F.inertia.zero
    if zero == 0:
        return None
    cells = [name, F.shape[0], F.stats()["factor"]["rank"], zero]
    info, seconds = [], []
    for orthonormal in (False, True):
        begin = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            V = F.null_space(orthonormal=orthonormal)
        seconds.append(time.perf_counter() - begin)
        info.append(F.stats()["null_space"])
    if F.shape[0] <= most_svd:
        dense = a.toarray() if hasattr(a, "toarray") else np.asarray(a)
        s = F.scale
        by_svd = f"{nullity(dense)}, {nullity(s[:, None] * dense * s[None, :])}"
    else:
        by_svd = ""
    cells += [info[0]["dimension"], info[1]["dimension"], info[1]["beyond"], "yes" if info[1]["certified"] else "no",
              by_svd, f"{max(info[0]['eta'], default=0):.1e}", f"{max(info[1]['eta'], default=0):.1e}",
              f"{info[1]['orthogonality']:.1e}", f"{1e3 * factor:.0f}", f"{1e3 * seconds[0]:.0f}", f"{1e3 * seconds[1]:.0f}"]
    return cells


HEAD = ("matrix", "n", "verdict", "zero pivots", "vectors", "orthonormal", "beyond", "certified", "by SVD: A, S A S",
        "worst η", "η, orthonormal", "\\|VᴴV − I\\|", "factorize, ms", "vectors, ms", "orthonormal, ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--svd", type=int, default=3000)
    parser.add_argument("--most", type=int, default=60000)
    parser.add_argument("--report")
    parser.add_argument("folders", nargs="+")
    args = parser.parse_args()
    lines = ["| " + " | ".join(HEAD) + " |", "|---" + "|---:" * (len(HEAD) - 1) + "|"]
    for folder in map(pathlib.Path, args.folders):
        for path in sorted(folder.rglob("*.mtx.xz")):
            if path.name.endswith("_b.mtx.xz") or path.stat().st_size > 3e6:
                continue
            try:
                a = mp.read(path)
                cells = row(str(path.relative_to(folder))[:-7], a, args.svd) if 0 < a.shape[0] <= args.most else None
            except (mp.MetapackError, ValueError) as error:
                print(f"{path}: {error}", file=sys.stderr)
                continue
            if cells:
                lines.append("| " + " | ".join(str(c) for c in cells) + " |")
                print(lines[-1], flush=True)
    if args.report:
        text = pathlib.Path(args.report).read_text()
        before, rest = text.split("<!-- table -->\n", 1)
        after = rest.split("<!-- end -->\n", 1)[1]
        pathlib.Path(args.report).write_text(before + "<!-- table -->\n" + "\n".join(lines) + "\n<!-- end -->\n" + after)


if __name__ == "__main__":
    main()
