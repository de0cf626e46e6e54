# SPDX-License-Identifier: BSD-3-Clause
"""The names of scikit-sparse: each part against the others, and P A Pᵀ = L D Lᴴ against A."""

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, kkt, random_values

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def definite(rng, n, dtype):
    g = random_values(rng, (n, n), dtype) * (rng.random((n, n)) < 0.3)
    scale = np.exp(2 * rng.standard_normal(n)).astype(dtype)  # so that S is not 1
    return scale[:, None] * (g @ g.conj().T + np.eye(n)).astype(dtype) * scale


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("ordering", ["default", "amd", "metis", "natural"])
def test_a_definite_matrix(rng, dtype, ordering):
    n, eps = 25, np.finfo(dtype).eps
    a = definite(rng, n, dtype)
    factor = pymetapack.cholesky(sp.csc_matrix(a), ordering_method=ordering)
    p, whole = factor.P(), np.eye(n, dtype=dtype)
    assert sorted(p) == list(range(n))
    inverse_l, inverse_lt = factor.solve_L(whole), factor.solve_Lt(whole)
    lower = np.linalg.inv(inverse_l)
    size = 1 / np.sqrt(np.outer(*2 * [np.diag(a).real]))  # rows of all sizes
    bound = 1e5 * n * eps
    assert np.allclose(np.triu(inverse_l, 1), 0) and np.allclose(np.diag(inverse_l), 1, atol=bound)
    assert np.allclose(inverse_lt, inverse_l.conj().T, rtol=bound, atol=bound * np.abs(inverse_l).max())
    if factor.factor.D.nnz == n:
        again = (lower * factor.D()) @ lower.conj().T
        assert np.abs((again - a[np.ix_(p, p)]) * size[np.ix_(p, p)]).max() < bound
        root = factor.solve_L(whole, use_LDLt_decomposition=False)
        assert np.allclose(root, inverse_l / np.sqrt(factor.D())[:, None], rtol=bound, atol=bound)
        turned = factor.solve_Lt(whole, False)
        assert np.allclose(turned, root.conj().T, rtol=bound, atol=bound * np.abs(root).max())
    b = random_values(rng, n, dtype)
    x = factor(b)
    steps = factor.apply_Pt(factor.solve_DLt(factor.solve_L(factor.apply_P(b))))
    assert np.abs((steps - x) / np.sqrt(np.diag(a).real) ** -1).max() < bound * np.abs(x).max() * 1e3
    assert np.array_equal(factor.solve_LD(b), factor.solve_D(factor.solve_L(b)))
    assert np.array_equal(factor.apply_Pt(factor.apply_P(b)), b)
    sign, log = np.linalg.slogdet(a)
    assert np.isclose(factor.logdet(), log, rtol=bound) and np.isclose(factor.slogdet().sign, sign)
    assert np.isclose(factor.det(), np.linalg.det(a), rtol=100 * bound)


def test_new_values_and_shifts(rng):
    a = definite(rng, 20, float)
    s = sp.csc_matrix(a)
    b = rng.standard_normal(20)
    factor = pymetapack.cholesky(s, beta=2)
    assert np.allclose((a + 2 * np.eye(20)) @ factor(b), b)
    factor.cholesky_inplace(3 * s)
    assert np.allclose(3 * a @ factor.solve_A(b), b)
    other = factor.cholesky(s, beta=1)
    assert np.allclose((a + np.eye(20)) @ other(b), b) and np.allclose(3 * a @ factor(b), b)
    assert np.allclose(other.inv().toarray() @ (a + np.eye(20)), np.eye(20))
    lower = pymetapack.cholesky(sp.csc_matrix(np.tril(a)))  # the lower triangle counts
    assert np.allclose(a @ lower(b), b)


def test_an_indefinite_matrix(rng):
    a = kkt(rng, 12, 5)
    factor = pymetapack.cholesky(sp.csc_matrix(a))
    assert factor.factor.inertia == (12, 5, 0)
    b = rng.standard_normal((17, 2))
    x = factor.apply_Pt(factor.solve_Lt(factor.solve_D(factor.solve_L(factor.apply_P(b)))))
    assert np.allclose(a @ x, b)
    with pytest.raises(pymetapack.ArgumentError, match="positive definite"):
        factor.solve_L(b, use_LDLt_decomposition=False)


def test_words_that_are_none():
    for wrong in ({"mode": "fast"}, {"ordering_method": "alphabetical"}):
        with pytest.raises(ValueError, match="must be"):
            pymetapack.cholesky(sp.identity(3, format="csc"), **wrong)
