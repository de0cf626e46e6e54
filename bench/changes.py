#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What changes cost beside a whole refactorization: bench/results/changes.md.

    PYTHONPATH=build/check/release/python bench/changes.py MATRICES [--least-nnz N] [--most-nnz N]
        [--seconds S]

For each symmetric matrix under MATRICES (.mtx.xz): milliseconds of CPU of refactor, of refactor_entries
with 1, 10 and 100 values changed at random, and with one value of the deepest front; the share of the
flops that was computed, the memory that is kept; then rows added by a border until that, and a solve
with it, takes longer than a new factorization and its solve.  One thread; the least of repetitions."""

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import pymetapack as mp

warnings.simplefilter("ignore")


def least(run, times=3):
    best = np.inf
    for _ in range(times):
        start = time.process_time()
        run()
        best = min(best, time.process_time() - start)
    return 1e3 * best


def lower(path):
    A = mp.read(str(path))
    A = A[0] if isinstance(A, tuple) else A
    A = sp.csc_matrix(sp.tril(A))
    A.sort_indices()
    return A


def entries(A, F, rng):
    G = mp.ldl(A, lower=True, threads=1, singular="ignore")
    wholes = []
    for at in rng.choice(A.nnz, 5):  # verdicts on the rank, too, are those of changed values
        changed = A.data.copy()
        changed[at] *= 1.01
        wholes.append(least(lambda: G.refactor(changed), 1))
        G.refactor(A.data)
    row = {"whole": float(np.median(wholes))}
    G.close()
    for count in (1, 10, 100):
        shares, times = [], []
        for _ in range(5):
            at = rng.choice(A.nnz, min(count, A.nnz), replace=False)
            changed = A.data[at] * 1.01
            times.append(least(lambda: F.refactor_entries(at, changed), 1))
            shares.append(F.stats()["factor"]["redone"])
            F.refactor_entries(at, A.data[at])
        row[count] = (float(np.median(times)), float(np.median(shares)))
    first = next(int(j) for j in F.perm if A.indptr[j] < A.indptr[j + 1])
    at = [int(A.indptr[first])]
    deep = A.data[at] * 1.01
    row["deep"] = least(lambda: F.refactor_entries(at, deep), 1), F.stats()["factor"]["redone"]
    F.refactor_entries(at, A.data[at])
    return row


def borders(A, F, rng, whole):
    """Rows until a new factorization is as cheap: (rows, ms of an add, ms of the last solve)."""
    n = A.shape[0]
    b = rng.standard_normal(n)
    plain = least(lambda: F.solve(b))
    W = F.bordered(256)
    full = np.zeros(W.size)
    full[:n] = b
    adds = []
    crossed = None
    for k in range(1, 257):
        rows = rng.choice(n, min(4, n), replace=False)
        adds.append(least(lambda: W.add(rows, np.ones(len(rows)), 1.0), 1))
        if k in (1, 4, 16, 64, 128, 256):
            solve = least(lambda: W.solve(full), 2)
            if crossed is None and adds[-1] + solve > whole + plain:
                crossed = k
                break
            last = solve
    return crossed, float(np.median(adds)), solve, plain


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("matrices", type=Path)
    parser.add_argument("--most-nnz", type=int, default=400_000)
    parser.add_argument("--least-nnz", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=100)
    given = parser.parse_args()
    print("| matrix | n | refactor ms | 1 value | share | 10 | share | 100 | share | lowest front | share | "
          "kept / factor | add ms | solve ms (plain) | as dear at k |")
    print("|---|" + "---|" * 14)
    begin = time.monotonic()
    for path in sorted(given.matrices.rglob("*.mtx.xz"), key=lambda p: p.stat().st_size):
        if path.name.endswith("_b.mtx.xz"):
            continue
        if time.monotonic() - begin > given.seconds:
            print("out of time", file=sys.stderr)
            break
        try:
            A = lower(path)
            if not given.least_nnz <= A.nnz <= given.most_nnz or A.shape[0] != A.shape[1] or A.dtype.kind == "c":
                continue
            F = mp.ldl(A, lower=True, updates=True, threads=1, singular="ignore")
            rng = np.random.default_rng(1)
            row = entries(A, F, rng)
            info = F.stats()["factor"]
            kept = info["kept_bytes"] / max(1, info["bytes"] - info["kept_bytes"])
            cells = [path.name[:-7], A.shape[0], f"{row['whole']:.2f}"]
            for key in (1, 10, 100, "deep"):
                cells += [f"{row[key][0]:.2f}", f"{row[key][1]:.3f}"]
            cells.append(f"{kept:.2f}")
            if F.status == "ok" and info["inertia"]["zero"] == 0:
                crossed, add, solve, plain = borders(A, F, rng, row["whole"])
                cells += [f"{add:.2f}", f"{solve:.2f} ({plain:.2f})", crossed or "> 256"]
            else:
                cells += ["-", "-", "singular"]
        except mp.MetapackError as error:
            cells = [path.name[:-7], "-", str(error)[:60]]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main()
