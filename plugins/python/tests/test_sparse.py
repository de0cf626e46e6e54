# SPDX-License-Identifier: BSD-3-Clause
"""Few rows of b, few rows of x: beside solves in all rows."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, random_values, symmetric

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(20261129)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_rows_of_the_solution(rng, dtype, hermitian):
    n = 60
    a = symmetric(rng, n, dtype, hermitian, density=0.1) + 3 * np.eye(n, dtype=dtype)
    F = pymetapack.ldl(sp.csc_matrix(a), hermitian=hermitian)
    B = sp.random(n, 11, 0.05, random_state=3).astype(dtype)
    full = np.column_stack([F.solve(B.toarray()[:, k], refine=0) for k in range(11)])
    assert np.array_equal(F.solve_sparse(B), full)
    rows = rng.integers(0, n, 7)
    assert np.array_equal(F.solve_sparse(B, rows), full[rows])
    assert 0 < F.stats()["solve_sparse"]["share"] <= 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pymetapack.InaccurateWarning)  # as it is for hard ones
        assert np.array_equal(F.solve_sparse(B.tocsr(), rows, check="rows"), full[rows])
    assert F.stats()["solve_sparse"]["rows"] < 1e3 * np.finfo(dtype).eps
    refined = F.solve_sparse(B, rows, check="full")
    assert np.allclose(refined, F.solve(B.toarray())[rows], rtol=1e-3 if dtype in (np.float32, np.complex64) else 1e-9)
    assert F.stats()["solve_sparse"]["solve"]["componentwise"] < 1e2 * np.finfo(dtype).eps
    if np.dtype(dtype).kind == "f":
        C = B + 1j * sp.random(n, 11, 0.05, random_state=4)
        assert np.allclose(F.solve_sparse(C, rows), F.solve(C.toarray(), refine=0)[rows], rtol=1e-3)


def test_what_is_refused(rng):
    a = symmetric(rng, 9, float) + 4 * np.eye(9)
    F = pymetapack.ldl(a)
    e = sp.csc_matrix(([1.0], ([3], [0])), (9, 1))
    for rows in ([9], [-1], [2**32]):
        with pytest.raises(pymetapack.ArgumentError, match="no row"):
            F.solve_sparse(e, rows)
    with pytest.raises(TypeError):
        F.solve_sparse(e, [0.5])
    with pytest.raises(ValueError):
        F.solve_sparse(e, check="some")
    with pytest.raises(ValueError):
        F.solve_sparse(sp.eye(8))
    with pytest.raises(pymetapack.InputError):
        F.solve_sparse(e * np.nan)
    assert F.solve_sparse(e, []).shape == (0, 1)
    assert F.solve_sparse(sp.csc_matrix((9, 0))).shape == (9, 0)


def test_singular_matrices():
    F = pymetapack.ldl(np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]), singular="ignore")
    without = sp.csc_matrix(([1.0], ([0], [0])), (3, 1))
    with pytest.raises(pymetapack.SingularMatrixError):
        F.solve_sparse(without, [0], check="full")
    with pytest.warns(pymetapack.InaccurateWarning, match="wanted rows"):
        F.solve_sparse(without, check="rows")
    B = sp.csc_matrix(([1.0, -1.0], ([0, 2], [0, 0])), (3, 1))
    for check in ("none", "rows", "full"):  # consistent
        assert np.ptp(F.solve_sparse(B, check=check).ravel() - [1.0, 0.0, -1.0]) < 1e-14
