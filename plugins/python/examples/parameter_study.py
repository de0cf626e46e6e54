# SPDX-License-Identifier: BSD-3-Clause
"""A parameter study: K(s) = A + s M for many s, by a pool of processes that share one analysis.

The order depends on the pattern alone.  It is found once and saved; each worker loads it and
spends its time on numbers.  What comes back is the inertia at each s: how many eigenvalues of
(A, -M) lie below it (Sylvester's law), here of an acoustic resonator.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile

import scipy.sparse as sp

import pymetapack as mp

SIZE = 40


def matrices() -> tuple[sp.csc_matrix, sp.csc_matrix]:
    """A five-point Laplacian, and the mass: what every worker can make or read for itself."""
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], (SIZE, SIZE)) * SIZE**2
    one = sp.identity(SIZE)
    A = sp.csc_matrix(sp.kron(line, one) + sp.kron(one, line))
    return A, sp.identity(SIZE * SIZE, format="csc")


def below(work: tuple[str, float]) -> int:
    path, s = work
    A, M = matrices()
    with mp.ldl(A - s * M, analysis=path, threads=1) as F:
        inertia = F.inertia
        if not inertia.certified:
            raise ArithmeticError(f"the count below {s} is not certain")
        return inertia.negative


def main() -> None:
    A, M = matrices()
    shifts = [100.0 * k + 7 for k in range(1, 9)]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "resonator.analysis")
        mp.ldl(A - shifts[0] * M).save_analysis(path)
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            counts = pool.map(below, [(path, s) for s in shifts])
    for s, count in zip(shifts, counts):
        print(f"{count:3d} eigenvalues below {s:5.0f}")
    if counts != sorted(counts):
        raise SystemExit("more eigenvalues lie below a smaller number")


if __name__ == "__main__":
    main()
