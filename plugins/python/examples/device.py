# SPDX-License-Identifier: BSD-3-Clause
"""An interior-point method's systems, whose values never leave the GPU.

    python device.py [N] [cpu | cuda | cuda:1 | auto]

The matrix is a cupyx.scipy.sparse one where there are CuPy and a GPU, else SciPy's: the program is
the same.  The pattern goes to the host once, where it is analysed; in the loop new values and
right-hand sides go to the library by their pointers.
"""

import sys

import numpy as np
import scipy.sparse as sp

import pymetapack


def arrays():
    """(array module, sparse module): CuPy's on a GPU, else NumPy's and SciPy's."""
    try:
        import cupy
        from cupyx.scipy import sparse

        if cupy.cuda.runtime.getDeviceCount() and pymetapack.devices():
            return cupy, sparse
    except Exception as error:  # no CuPy, no driver, no GPU
        print(f"on the host: {error}")
    return np, sp


def kkt(n):
    """[H B'; B 0]: a chain of n variables, every second pair of neighbours constrained."""
    h = sp.diags([-np.ones(n - 1), 4 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1])
    rows = np.arange(n // 2)
    b = sp.csr_matrix((np.ones(2 * len(rows)), (np.r_[rows, rows], np.r_[2 * rows, 2 * rows + 1])),
                      shape=(len(rows), n))  # fmt: skip
    return sp.bmat([[h, b.T], [b, None]], format="csr"), n, len(rows)


def main(n=2000, device=None):
    xp, sparse = arrays()
    k, variables, constraints = kkt(n)
    A = sparse.csr_matrix(k)  # on the GPU, where xp is CuPy
    rows = np.repeat(np.arange(k.shape[0]), np.diff(k.indptr))
    diagonal = xp.asarray(np.flatnonzero((rows == k.indices) & (rows < variables)))
    rng = np.random.default_rng(1)
    b = xp.asarray(rng.standard_normal(k.shape[0]))
    with pymetapack.ldl(A, device=device) as F:
        print(f"{k.shape[0]} unknowns, {F.engine}, arrays of {xp.__name__}")
        for step in range(5):
            values = A.data.copy()
            values[diagonal] += xp.asarray(10.0 ** rng.uniform(-step, step, len(diagonal)))
            F.refactor(values)  # by the pointer
            x = F.solve(b)  # of b's kind, where b is
            assert isinstance(x, xp.ndarray)
            r = b - sparse.csr_matrix((values, A.indices, A.indptr), shape=A.shape) @ x
            error = float(xp.abs(r).max() / xp.abs(b).max())
            print(f"step {step}: inertia {tuple(F.inertia)}, residual {error:.1e}")
            assert F.inertia == (variables, constraints, 0) and error < 1e-8


if __name__ == "__main__":
    main(*([int(sys.argv[1])] if sys.argv[1:] else []), *sys.argv[2:3])
