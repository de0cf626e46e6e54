# SPDX-License-Identifier: BSD-3-Clause
"""Every small real matrix: inertia by dense eigenvalues, solutions by their backward error."""

import gzip
import lzma
import re

import numpy as np
import pytest
import scipy.io

import pymetapack
from support import DATA, MATRICES, backward_error, check_inertia, check_solution

LARGEST = 1500


def opened(path):
    return {".xz": lzma.open, ".gz": gzip.open}.get(path.suffix, open)(path, "rb")


def order_of(path):
    with opened(path) as file:
        for line in file:
            if not line.startswith(b"%"):
                return int(line.split()[0])
    return 0


def small():
    for folder in (DATA, MATRICES):
        for path in sorted(folder.glob("*/*.mtx*")) if folder.exists() else []:
            if not re.search(r"_b\.mtx", path.name) and order_of(path) <= LARGEST:
                yield pytest.param(path, id=f"{path.parent.name}/{path.name}")


def by_scipy(path):
    with opened(path) as file:
        a = scipy.io.mmread(file)
    return a.toarray() if hasattr(a, "toarray") else np.asarray(a)


@pytest.mark.parametrize("path", list(small()))
def test_matrix(path):
    matrix = pymetapack.read(path)
    a = matrix.toarray()
    if path.name not in ("scale.mtx", "duplicates.mtx"):
        assert np.array_equal(a, by_scipy(path))
    hermitian = a.dtype.kind == "c" and np.array_equal(a, a.conj().T)
    factor = pymetapack.ldl(matrix, hermitian=hermitian, singular="ignore")
    n = len(a)
    if (a.dtype.kind != "c" or hermitian) and n and path.name != "scale.mtx":
        check_inertia(a, factor.inertia)
    assert factor.rank == n - factor.inertia.zero
    b = matrix @ np.ones(n)
    if factor.status == "singular":  # consistent all the same
        x = factor.solve(b)
        assert backward_error(matrix, x, b) <= 1e-8
        return
    x = factor.solve(b)
    assert backward_error(matrix, x, b) <= 1e-15 * max(n, 4)
    if n <= 600:
        check_solution(a, x, b)
    factor.refactor(2 * matrix)
    assert backward_error(2 * matrix, factor.solve(b), b) <= 1e-15 * max(n, 4)


def test_there_are_some():
    assert len(list(small())) >= 25
