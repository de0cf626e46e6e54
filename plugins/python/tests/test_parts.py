# SPDX-License-Identifier: BSD-3-Clause
"""What a factor gives besides solutions: parts, samples, transposes, new patterns."""

import sys
import types

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, check_solution, kkt, random_values, symmetric

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(20261129)


def laws(dtype):
    return (False, True) if np.dtype(dtype).kind == "c" else (False,)


def give(a, form, lower):
    a = a if lower is None else np.tril(a) if lower else np.triu(a)
    return a if form == "dense" else sp.csc_matrix(a) if form == "csc" else sp.csr_matrix(a)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("form", ["csc", "csr", "dense"])
def test_refactor_fills_in_zeros(rng, dtype, lower, form):
    for hermitian in laws(dtype):
        a = symmetric(rng, 25, dtype, hermitian) + 4 * np.eye(25, dtype=dtype)
        b = random_values(rng, 25, dtype)
        factor = pymetapack.ldl(give(a, form, lower), lower=lower, hermitian=hermitian)
        less = a.copy()
        i, j = np.argwhere(np.tril(a, -1))[:4].T  # entries that cancel
        less[i, j] = less[j, i] = 0
        for other in ("csc", "csr", "dense"):
            factor.refactor(give(2 * less, other, lower))
            check_solution(2 * less, factor.solve(b), b)
        factor.refactor(give(a, form, lower))  # the pattern was kept
        check_solution(a, factor.solve(b), b)
        doubled = sp.coo_matrix(give(less, form, lower))
        rows, cols = np.tile(doubled.row, 2), np.tile(doubled.col, 2)
        factor.refactor(sp.coo_matrix((np.tile(doubled.data, 2), (rows, cols)), a.shape))
        check_solution(2 * less, factor.solve(b), b)


def test_the_other_triangle_is_not_looked_at(rng):
    a = symmetric(rng, 12, float) + 4 * np.eye(12)
    factor = pymetapack.ldl(sp.csc_matrix(np.tril(a)), lower=True)
    crooked = sp.csc_matrix(np.tril(a) + np.triu(np.ones((12, 12)), 1))
    check_solution(a, factor.refactor(crooked).solve(a[0]), a[0])


def test_refactor_reanalyses_when_asked(rng):
    a = sp.csc_matrix(symmetric(rng, 20, float) + 4 * np.eye(20))
    c = symmetric(rng, 20, float, density=0.6) + 4 * np.eye(20)
    b = rng.standard_normal(20)
    factor = pymetapack.ldl(a)
    want = factor.solve(b)
    with pytest.raises(pymetapack.PatternError, match="reanalyse=True"):
        factor.refactor(c)
    bad = c.copy()
    bad[3, 3] = np.nan
    with pytest.raises(pymetapack.InputError):
        factor.refactor(bad, reanalyse=True)
    assert np.array_equal(factor.solve(b), want)  # as it was
    held = factor.inertia
    check_solution(c, factor.refactor(c, reanalyse=True).solve(b), b)
    with pytest.raises(pymetapack.ArgumentError):
        held.certified  # of other values
    check_solution(2 * c, factor.refactor(2 * c).solve(b), b)
    check_solution(3 * c, factor.refactor(sp.csr_matrix(3 * c)).solve(b), b)
    with pytest.raises(pymetapack.PatternError):
        factor.refactor(np.eye(19), reanalyse=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_transposes(rng, dtype):
    for hermitian in laws(dtype):
        a = symmetric(rng, 20, dtype, hermitian) + 4 * np.eye(20, dtype=dtype)
        factor = pymetapack.ldl(a, hermitian=hermitian)
        for b in (random_values(rng, 20, dtype), random_values(rng, (20, 3), dtype)):
            check_solution(a, factor.solve(b, trans="N"), b)
            check_solution(a.T, factor.solve(b, trans="T"), b)
            check_solution(a.conj().T, factor.solve(b, trans="H"), b)
            out = np.empty_like(b, order="F")
            assert factor.solve(b, out, trans="T") is out
            check_solution(a.T, out, b)
    with pytest.raises(ValueError, match="trans"):
        factor.solve(b, trans="X")
    with pytest.raises(NotImplementedError):
        pymetapack.ldu(np.triu(a)).solve(b, trans="T")


@pytest.mark.parametrize("dtype", DTYPES)
def test_parts_make_the_inverse(rng, dtype):
    n, eps = 24, np.finfo(dtype).eps
    for hermitian in laws(dtype):
        a = symmetric(rng, n, dtype, hermitian) + 4 * np.eye(n, dtype=dtype)
        factor = pymetapack.ldl(a, hermitian=hermitian)
        b = random_values(rng, (n, 2), dtype)
        L, D, LT = (factor.part(p) for p in ("L", "D", "LT"))
        bound = 1e3 * n * eps * np.linalg.cond(a) * np.abs(b).max()
        assert np.abs(a @ (LT @ (D @ (L @ b))) - b).max() < bound
        for op in (L, D, LT):
            whole = op @ np.eye(n, dtype=dtype)
            assert np.allclose(op.H @ b, whole.conj().T @ b, atol=bound)
            assert np.allclose(op.H @ b[:, 0], whole.conj().T @ b[:, 0], atol=bound)
    with pytest.raises(ValueError, match="part must be"):
        factor.part("U")


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_root_and_samples(rng, dtype):
    n, hermitian = 30, np.dtype(dtype).kind == "c"
    g = random_values(rng, (n, n), dtype)
    a = (g @ g.conj().T + np.eye(n)).astype(dtype)
    for threshold in (0.01, 0.5):  # 0.5: with pivots of order 2
        factor = pymetapack.ldl(a, hermitian=hermitian, pivot_threshold=threshold)
        W = factor.part("sqrt")
        w = W @ np.eye(n, dtype=dtype)
        assert np.allclose(w @ w.conj().T @ a, np.eye(n), atol=1e4 * np.finfo(dtype).eps * n)
        assert np.allclose(W.H @ a[0], w.conj().T @ a[0], atol=1e3 * np.finfo(dtype).eps * n * n)
    x = factor.sample(20_000, 3)
    assert x.shape == (n, 20_000) and x.dtype == dtype
    inverse = np.linalg.inv(a)
    size = np.sqrt(np.outer(np.diag(inverse).real, np.diag(inverse).real))
    assert np.abs((x @ x.conj().T / 20_000 - inverse) / size).max() < 0.06
    assert factor.sample(rng=np.random.default_rng(1)).shape == (n,)
    assert np.array_equal(factor.sample(2, 5), factor.sample(2, 5))
    factor.refactor(2 * a)
    with pytest.raises(pymetapack.ArgumentError, match="anew"):
        W @ x[:, 0]


def test_no_root_without_a_definite_matrix(rng):
    for a in (kkt(rng, 10, 4), -np.eye(3), np.array([[0.0, 1], [1, 0]])):
        with pytest.raises(pymetapack.ArgumentError, match="not positive definite"):
            pymetapack.ldl(a).sample(rng=rng)
    with pytest.raises(pymetapack.ArgumentError, match="complex symmetric"):
        pymetapack.ldl(np.eye(3) * (1 + 1j)).part("sqrt")


class Foreign:
    """As JAX's arrays are to a solver: converted by __array__, made by sys.modules["jax"]."""

    def __init__(self, values):
        self.values = np.asarray(values)

    def __array__(self, dtype=None, copy=None):
        return self.values


def test_jax_arrays_come_back_as_such(monkeypatch):
    monkeypatch.setattr(Foreign, "__module__", "jaxlib._jax")
    jax = types.ModuleType("jax")
    jax.numpy = types.SimpleNamespace(asarray=Foreign)
    monkeypatch.setitem(sys.modules, "jax", jax)
    a, b = np.array([[0.0, 1], [1, 2]]), Foreign([1.0, 2])
    factor, out = pymetapack.ldl(a), np.empty(2)
    assert factor.solve(b, out) is out
    for x in (factor.solve(b), factor.solve(b, refine=0), factor.solve_part("LT", b), pymetapack.spsolve(a, b),
              pymetapack.solve_dense(a, b), pymetapack.ldl_dense(a).solve(b),
              pymetapack.sqmr(a, b)[0]):  # fmt: skip
        assert isinstance(x, Foreign)
    assert np.allclose(a @ factor.solve(b).values, b.values)
    assert np.array_equal(factor.solve(Foreign([1 + 1j, 2])).values, factor.solve([1 + 1j, 2]))
    assert pymetapack.ldl(Foreign(a)).inertia == (1, 1, 0)


@pytest.mark.parametrize("method", ["minres", "symmlq", "cg", "sqmr", "gmres", "fgmres", "bicgstab", "idr"])
def test_functions_as_matrices(rng, method):
    a, b = np.diag(np.arange(1.0, 31)), rng.standard_normal(30)
    solve = getattr(pymetapack, method)
    for given in (b, b[:, None], b.astype(np.float32)):
        x, info = solve(lambda v: a @ v, given, rtol=1e-5)
        assert info == 0 and x.shape == given.shape and x.dtype == given.dtype
        assert np.linalg.norm(a @ x - given) <= 1e-4 * np.linalg.norm(b)
    x, info = solve(lambda v: a @ v, b, M=lambda v: v / np.arange(1.0, 31), rtol=1e-8)
    assert info == 0 and np.allclose(a @ x, b, atol=1e-6)
    with pytest.raises(TypeError, match="complex128"):
        solve(lambda v: 1j * v, b)
