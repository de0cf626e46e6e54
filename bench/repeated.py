#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solves with one factor and one right-hand side, beside SciPy's SuperLU: bench/repeated.py [REPEATS].

    PYTHONPATH=build/python python3 bench/repeated.py

In one process, one after the other, the least of REPEATS (200) each; SuperLU as splu(A) makes it, which
is what eigsh takes, and with its settings for symmetric matrices. Each answer is checked first.
"""

import os
import platform
import sys
import time
import warnings

import numpy as np
import scipy
from scipy.sparse.linalg import splu

import pymetapack

MATRICES = ("helmholtz 2d 200 0.3", "helmholtz 2d 200 boundary=absorbing", "stokes mac 100")
SYMMETRIC = {"permc_spec": "MMD_AT_PLUS_A", "diag_pivot_thresh": 0.0,
             "options": {"SymmetricMode": True}}  # fmt: skip


def superlu(a, **settings):
    try:
        return splu(a, **settings).solve
    except RuntimeError:  # exactly singular, it says where a zero pivot met no threshold
        return None


def solvers(a):
    for threads in (1, 2):
        factor = pymetapack.ldl(a, threads=threads)
        word = f"{threads} thread{'s' if threads > 1 else ''}"
        yield f"checked, {word}", factor.solve
        yield f"refine=0, {word}", lambda b, factor=factor: factor.solve(b, refine=0)
        yield f"operator, {word}", factor.aslinearoperator().matvec
    yield "SuperLU", superlu(a)
    yield "SuperLU, symmetric mode", superlu(a, **SYMMETRIC)


def main(repeats):
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} processors; Python "
          f"{platform.python_version()}, SciPy {scipy.__version__}; {pymetapack.build_config()}")  # fmt: skip
    for spec in MATRICES:
        a = pymetapack.generate(spec)
        b = np.random.default_rng(1).standard_normal(a.shape[0]).astype(a.dtype)
        size = abs(a).sum(axis=1).max()
        found = {name: solve for name, solve in solvers(a) if solve}
        best = dict.fromkeys(found, np.inf)
        for name, solve in list(found.items()):
            x = solve(b)
            error = np.abs(a @ x - b).max() / (size * np.abs(x).max() + np.abs(b).max())
            if not error <= 1e-10:
                warnings.warn(f"{spec}: {name} has a backward error of {error:.1e}: left out")
                del found[name]
        for _ in range(repeats):
            for name, solve in found.items():
                start = time.perf_counter()
                solve(b)
                best[name] = min(best[name], time.perf_counter() - start)
        print(f"\n{spec}: n = {a.shape[0]}\n{'':28}{'ms':>8}{'SuperLU / this':>18}")
        for name in found:
            print(f"{name:28}{1e3 * best[name]:8.2f}{best['SuperLU'] / best[name]:18.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
