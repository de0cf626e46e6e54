# SPDX-License-Identifier: BSD-3-Clause
"""Batches: factors multiply to the matrices, solutions agree with dense NumPy, outcomes are their own."""

import numpy as np
import pytest

import pymetapack as mp
from support import DTYPES, random_values, symmetric


def matrices(count, n, dtype, hermitian=False, definite=False, seed=5):
    rng = np.random.default_rng(seed)
    a = np.array([symmetric(rng, n, dtype, hermitian, 1.0) for _ in range(count)])
    a = a.reshape(count, n, n)
    if definite:
        a = a @ a.conj().transpose(0, 2, 1) + n * np.eye(n)
    return a.astype(dtype)


def bound(dtype, n):
    return 200 * n * np.finfo(dtype).eps


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("pivoting", ["partial", "rook", "complete"])
@pytest.mark.parametrize("n", [1, 2, 7, 33, 64])
def test_ldlt(dtype, hermitian, pivoting, n):
    a = matrices(9, n, dtype, hermitian)
    factor = mp.ldl_batch(np.tril(a), hermitian=hermitian, pivoting=pivoting)
    upper = mp.ldl_batch(np.triu(a), lower=False, hermitian=hermitian, pivoting=pivoting)
    assert (factor.outcome == 0).all() and factor.status == "ok"
    turn = (
        (lambda m: m.conj().transpose(0, 2, 1)) if hermitian else (lambda m: m.transpose(0, 2, 1))
    )
    for f in (factor, upper):
        rows = np.arange(9)[:, None, None]
        permuted = a[rows, f.perm[:, :, None], f.perm[:, None, :]]
        product = f.L @ f.D @ turn(f.L)
        assert np.abs(product - permuted).max() <= bound(dtype, n) * np.abs(a).max()
        if hermitian or np.dtype(dtype).kind != "c":
            values = np.linalg.eigvalsh(a)
            assert np.array_equal(f.inertia[:, 1], (values < 0).sum(axis=1))
            assert (f.inertia.sum(axis=1) == n).all()
        for shape in ((9, n), (9, n, 1), (9, n, 5)):
            b = random_values(np.random.default_rng(1), shape, dtype)
            x = f.solve(b)
            assert x.shape == shape and x.dtype == dtype
            wide = x.reshape(9, n, -1)
            r = np.abs(a @ wide - b.reshape(9, n, -1)).max()
            assert r <= bound(dtype, n) * (np.abs(a).max() * np.abs(x).max() * n + 1)


@pytest.mark.parametrize("method", ["llt", "ldu"])
def test_other_methods(method):
    a = matrices(5, 12, np.float64, definite=method == "llt")
    if method == "ldu":
        a = a + np.triu(np.ones((12, 12)))  # not symmetric
    factor = mp.ldl_batch(a, method=method, pivoting="none" if method == "llt" else "complete")
    b = np.ones((5, 12))
    assert np.allclose(factor.solve(b), np.linalg.solve(a, b[:, :, None])[:, :, 0])
    if method == "llt":
        assert np.allclose(factor.L, np.linalg.cholesky(a)) and np.array_equal(
            factor.perm[0], range(12)
        )


def test_each_has_its_own_outcome():
    a = matrices(6, 8, np.float64)
    a[1] = 0
    a[2, 3, 3] = np.nan
    a[4] = np.ones((8, 8))
    with pytest.warns(mp.MetapackWarning, match="1 of 6"):
        factor = mp.ldl_batch(a)
    assert factor.outcome.tolist() == [0, 1, 3, 0, 1, 0] and factor.status == "partial"
    assert factor.inertia[1].tolist() == [0, 0, 8] and factor.inertia[4].tolist() == [1, 0, 7]
    with pytest.warns(mp.InaccurateWarning, match="1 of 6 systems are inconsistent.* number 1"):
        x = factor.solve(np.ones((6, 8)))
    assert np.isnan(x[2]).all() and np.isfinite(np.delete(x, 2, 0)).all()
    for k in (0, 3, 5):
        assert np.allclose(a[k] @ x[k], 1)
    assert np.allclose(a[4] @ x[4], 1)  # singular and consistent
    with pytest.warns(mp.ZeroPivotWarning):
        mp.ldl_batch(np.zeros((2, 3, 3)))
    with pytest.warns(mp.MetapackWarning):
        assert mp.ldl_batch(-np.eye(3)[None], method="llt", pivoting="none").outcome[0] == 2


def test_sizes():
    a = matrices(4, 6, np.float64)
    sizes = [6, 3, 0, 1]
    factor = mp.ldl_batch(a, sizes=sizes)
    x = factor.solve(np.ones((4, 6)))
    for k, n in enumerate(sizes):
        assert np.allclose(a[k, :n, :n] @ x[k, :n], 1) and factor.inertia[k].sum() == n


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ["n", "t", "c"])
def test_gemm(dtype, op):
    rng = np.random.default_rng(2)
    a, b = random_values(rng, (7, 5, 4), dtype), random_values(rng, (7, 4, 3), dtype)
    c = random_values(rng, (7, 5, 3), dtype)
    given = {"n": b, "t": b.transpose(0, 2, 1), "c": b.conj().transpose(0, 2, 1)}[op]
    close = dict(rtol=1e-4 if np.finfo(dtype).bits == 32 else 1e-12, atol=1e-4)
    assert np.allclose(mp.batch_gemm(a, given, transpose_b=op), a @ b, **close)
    got = mp.batch_gemm(a, given, c, alpha=2.0, beta=-0.5, transpose_b=op)
    assert got.dtype == dtype and np.allclose(got, 2 * a @ b - 0.5 * c, **close)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("hermitian", [False, True])
def test_gemm_with_d(dtype, hermitian):
    """L D L^T by the product is the permuted matrix again."""
    a = matrices(5, 10, dtype, hermitian)
    f = mp.ldl_batch(a, hermitian=hermitian)
    product = mp.batch_gemm(
        f.L, f.L, D=f.D, transpose_b="c" if hermitian else "t", hermitian=hermitian
    )
    rows = np.arange(5)[:, None, None]
    assert np.allclose(product, a[rows, f.perm[:, :, None], f.perm[:, None, :]])


def test_bad_input():
    good = mp.ldl_batch(np.eye(3)[None])
    for call, kind in (
        (lambda: mp.ldl_batch(np.eye(3)), ValueError),
        (lambda: mp.ldl_batch(np.ones((2, 3, 4))), ValueError),
        (lambda: mp.ldl_batch(np.ones((2, 65, 65))), mp.UnsupportedError),
        (lambda: mp.ldl_batch(np.ones((2, 3, 3), np.float16)), TypeError),
        (lambda: mp.ldl_batch(np.eye(3)[None], method="qr"), ValueError),
        (lambda: mp.ldl_batch(np.eye(3)[None], pivoting="most"), ValueError),
        (lambda: mp.ldl_batch(np.eye(3)[None], method="llt", pivoting="rook"), mp.UnsupportedError),
        (lambda: mp.ldl_batch(np.eye(3)[None], sizes=[4]), mp.ArgumentError),
        (lambda: mp.ldl_batch(np.eye(3)[None], sizes=[1, 2]), ValueError),
        (lambda: good.solve(np.ones((1, 4))), ValueError),
        (lambda: good.solve(np.ones((2, 3))), ValueError),
        (lambda: good.solve(np.ones((1, 3, 65))), (mp.UnsupportedError, mp.ArgumentError)),
        (lambda: good.solve(np.ones((1, 3)) * 1j), TypeError),
        (lambda: mp.batch_gemm(np.ones((1, 2, 3)), np.ones((1, 2, 3))), ValueError),
        (lambda: mp.batch_gemm(np.ones((1, 2, 3)), np.ones((1, 3, 3)), beta=1.0), ValueError),
        (
            lambda: mp.batch_gemm(np.ones((1, 2, 3)), np.ones((1, 3, 3)), np.ones((1, 1, 1))),
            ValueError,
        ),
        (
            lambda: mp.batch_gemm(np.ones((1, 2, 3)), np.ones((1, 3, 3)), transpose_b="x"),
            ValueError,
        ),
    ):
        with pytest.raises(kind):
            call()


def test_empty():
    assert mp.ldl_batch(np.empty((0, 3, 3))).solve(np.empty((0, 3))).shape == (0, 3)
    assert mp.ldl_batch(np.empty((2, 0, 0))).solve(np.empty((2, 0))).shape == (2, 0)
    assert mp.batch_gemm(np.empty((0, 3, 2)), np.empty((0, 2, 3))).shape == (0, 3, 3)
