# SPDX-License-Identifier: BSD-3-Clause
"""Dense matrices: beside dense NumPy, in all types, triangles and orders of memory."""

import numpy as np
import pytest

import pymetapack as mp
from support import DTYPES, check_inertia, check_solution, kkt, random_values, symmetric

METHODS = ["auto", "tile", "bunch-kaufman", "rook"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n", [1, 2, 17, 150])
def test_agrees_with_numpy(dtype, hermitian, method, n):
    rng = np.random.default_rng(n)
    a = symmetric(rng, n, dtype, hermitian, 1.0) + np.diag(np.ones(n)).astype(dtype)
    for order in "CF":
        for lower in (None, True, False):
            given = {None: lambda m: m, True: np.tril, False: np.triu}[lower](a)
            factor = mp.ldl_dense(
                np.asarray(given, order=order), lower=lower, hermitian=hermitian, method=method
            )
            assert factor.status == "ok" and factor.dtype == dtype and factor.rank == n
            if np.dtype(dtype).kind != "c" or hermitian:
                check_inertia(a, factor.inertia)
            for shape in ((n,), (n, 3)):
                b = random_values(rng, shape, dtype)
                kept = b.copy()
                check_solution(a, factor.solve(b), b)
                x = mp.solve_dense(given, b, lower=lower, hermitian=hermitian)
                check_solution(a, x, b)
                assert np.array_equal(b, kept)
                assert np.array_equal(factor.solve(b, out=b), factor.solve(kept))


def test_factors_are_lapacks():
    """Bunch-Kaufman's pivots and factors are those of xSYTRF."""
    from scipy.linalg.lapack import dsytrf

    a = symmetric(np.random.default_rng(0), 70, np.float64, density=1.0)
    factor = mp.ldl_dense(a, method="bunch-kaufman")
    want, pivots, info = dsytrf(a, lower=1)
    assert info == 0
    assert np.array_equal(factor.pivots, pivots)
    assert np.allclose(np.tril(factor.factors), np.tril(want), rtol=1e-8, atol=1e-8)


def test_single_factors_of_a_double_matrix():
    a = kkt(np.random.default_rng(1), 80, 40)
    factor = mp.ldl_dense(a, precision="single", condition=True)
    assert factor.precision == "single" and factor.factors.dtype == np.float32
    b = np.ones(120)
    check_solution(a, factor.solve(b), b)
    stats = factor.stats()["solve"]
    assert stats["iterations"] >= 1 and stats["condition"] > 1
    assert factor.inertia == (80, 40, 0) and factor.nneg == 40


def test_complex_rhs_of_a_real_matrix():
    rng = np.random.default_rng(2)
    a = symmetric(rng, 20, np.float64, density=1.0)
    b = random_values(rng, (20, 2), np.complex128)
    assert np.allclose(a @ mp.ldl_dense(a).solve(b), b)
    assert np.allclose(a @ mp.solve_dense(a, b), b)
    assert np.allclose(a @ mp.solve_dense(a, np.arange(20)), np.arange(20))


def test_singular():
    a = np.ones((5, 5))
    with pytest.warns(mp.ZeroPivotWarning) as caught:
        factor = mp.ldl_dense(a)
    assert caught[0].filename == __file__
    assert factor.status == "singular" and factor.inertia == (1, 0, 4) and factor.rank == 1
    assert np.allclose(a @ factor.solve(np.full(5, 2.0)), 2)
    with pytest.raises(mp.SingularMatrixError):
        factor.solve(np.arange(5.0))
    with pytest.raises(mp.SingularMatrixError):
        mp.ldl_dense(a, singular="raise")
    with pytest.raises(mp.SingularMatrixError):
        mp.solve_dense(a, np.arange(5.0))
    with pytest.warns(mp.ZeroPivotWarning):
        assert np.allclose(a @ mp.solve_dense(a, np.ones(5)), 1)


def test_bad_input():
    good = mp.ldl_dense(np.eye(3))
    for call, kind, words in (
        (lambda: mp.ldl_dense(np.ones((2, 3))), ValueError, "square"),
        (lambda: mp.ldl_dense(np.array([[1.0, 2], [3, 4]])), mp.InputError, "not symmetric"),
        (lambda: mp.ldl_dense(np.array([[1, 2j], [2j, 4]]), hermitian=True), mp.InputError, "Herm"),
        (lambda: mp.ldl_dense(np.full((2, 2), np.nan)), mp.InputError, "NaN"),
        (lambda: mp.ldl_dense(np.eye(2, dtype=np.float16)), TypeError, "float16"),
        (lambda: mp.ldl_dense(np.eye(2), method="qr"), ValueError, "tile"),
        (lambda: mp.ldl_dense(np.eye(2), precision="tf32"), mp.MetapackError, ""),
        (lambda: mp.ldl_dense(np.eye(2), pivot_threshold=2.0), mp.ArgumentError, "threshold"),
        (lambda: mp.ldl_dense(np.eye(2), nonsense=2), TypeError, "nonsense"),
        (lambda: mp.ldl_dense(np.eye(2), device="tpu"), ValueError, "cuda:1"),
        (lambda: mp.solve_dense(np.eye(2), np.ones(2), device="cuda:x"), ValueError, "cuda:1"),
        (lambda: mp.ldl_dense(np.eye(2), singular="x"), ValueError, "singular"),
        (lambda: good.solve(np.ones(4)), ValueError, "shape"),
        (lambda: good.solve(np.array([1, np.nan, 2])), mp.InputError, "finite|NaN"),
        (lambda: mp.solve_dense(np.eye(3), np.ones(2)), ValueError, "shape"),
    ):
        with pytest.raises(kind, match=words or None):
            call()
    assert np.array_equal(good.solve(np.ones(3)), np.ones(3))
    with pytest.raises(TypeError, match="pickled"):
        __import__("pickle").dumps(good)


class Exchange:
    """An array of the host that is known by DLPack alone."""

    def __init__(self, x):
        self.x = x

    def __dlpack__(self, **how):
        return self.x.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_dlpack_of_the_host(dtype):
    a = np.arange(36.0).reshape(6, 6)
    a = (a + a.T + np.diag(np.arange(6) - 90)).astype(dtype)
    b = np.ones((6, 2), dtype)
    x = mp.solve_dense(Exchange(a), Exchange(b), device="cpu")
    assert x.dtype == a.dtype and np.allclose(a @ x, b, atol=1e-3)
    assert np.allclose(mp.ldl_dense(Exchange(a)).solve(Exchange(b)), x, atol=1e-3)


def test_without_a_gpu():
    """Nothing is moved to the processor."""
    if mp.devices():
        pytest.skip("there is a GPU")
    for call in (lambda: mp.ldl_dense(np.eye(3), device="cuda"),
                 lambda: mp.solve_dense(np.eye(3), np.ones(3), device="cuda:1")):  # fmt: skip
        with pytest.raises(mp.DeviceError):
            call()


def test_the_users_array_is_his():
    a = np.array([[0.0, 1], [1, 0]])
    factor = mp.ldl_dense(a)
    a[:] = np.nan
    assert np.array_equal(factor.solve([3.0, 4]), [4, 3])
    assert "2 x 2" in repr(factor)


def test_empty():
    factor = mp.ldl_dense(np.empty((0, 0)))
    assert factor.inertia == (0, 0, 0) and factor.solve(np.empty((0, 2))).shape == (0, 2)
    assert mp.solve_dense(np.empty((0, 0)), np.empty(0)).shape == (0,)
