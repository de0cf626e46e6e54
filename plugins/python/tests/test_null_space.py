# SPDX-License-Identifier: BSD-3-Clause
"""Kernels and shortest solutions beside NumPy's."""

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, random_values

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(20261129)


def deficient(rng, n, rank, dtype, hermitian):
    b = random_values(rng, (n, rank), dtype) * (rng.random((n, rank)) < 0.4)
    signs = np.where(np.arange(rank) % 3, 1, -1).astype(dtype)
    a = (b * signs) @ (b.conj().T if hermitian else b.T)
    return ((a + (a.conj().T if hermitian else a.T)) / 2).astype(dtype)


def laplacian(parts, each):
    cycle = sp.diags([np.ones(each - 1), np.ones(each - 1)], [1, -1], (each, each)).tolil()
    cycle[0, -1] = cycle[-1, 0] = 1
    one = sp.diags(np.asarray(cycle.sum(axis=0)).ravel()) - cycle
    return sp.block_diag([one] * parts, format="csc")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_kernel_and_pseudoinverse(rng, dtype, hermitian):
    if hermitian and np.dtype(dtype).kind != "c":
        pytest.skip("real")
    for a in (laplacian(3, 9).toarray().astype(dtype), np.zeros((5, 5), dtype), 2 * np.eye(4, dtype=dtype)):
        F = pymetapack.ldl(a, hermitian=hermitian, singular="ignore")
        eps = float(np.finfo(dtype).eps)
        lacking = len(a) - np.linalg.matrix_rank(a)
        N = F.null_space()
        assert N.shape == (len(a), lacking) and N.dtype == dtype
        assert np.abs(N.conj().T @ N - np.eye(lacking)).max(initial=0) < 20 * eps
        assert np.abs(a @ N).max(initial=0) < 50 * eps
        found = F.stats()["null_space"]
        assert found["certified"] and len(found["eta"]) == lacking
        for b in (random_values(rng, len(a), dtype), random_values(rng, (len(a), 3), dtype)):
            x = np.linalg.pinv(a.astype(complex), hermitian=False) @ b
            for basis in (None, N):
                assert np.abs(F.lstsq(b, basis) - x).max() < 1e3 * eps * np.abs(x).max(initial=1)
        assert F.stats()["lstsq"]["consistent"] == (1 if lacking == 0 else -1)


def test_rank_deficient_products(rng):
    for dtype in (np.float64, np.complex128):
        for hermitian in (False, True) if dtype is np.complex128 else (False,):
            a = deficient(rng, 30, 22, dtype, hermitian)
            F = pymetapack.ldl(a, hermitian=hermitian, singular="ignore")
            N = F.null_space()
            assert N.shape[1] == 8
            assert np.abs(a @ N).max() < 1e-12 * np.abs(a).max()
            b = random_values(rng, 30, dtype)
            x = np.linalg.pinv(a, rcond=1e-11) @ b
            assert np.abs(F.lstsq(b) - x).max() < 1e-9 * np.abs(x).max()


def test_given_vectors(rng):
    a = laplacian(4, 10)
    F = pymetapack.ldl(a, singular="ignore")
    known = np.repeat(np.eye(4), 10, axis=0)
    N = F.null_space(known, orthonormal=False)
    assert np.array_equal(N, known)
    assert F.stats()["null_space"]["given"] == 4 and F.stats()["null_space"]["certified"]
    N = F.null_space(known[:, 1])
    assert N.shape == (40, 4) and np.allclose(N[:, 0], known[:, 1] / np.sqrt(10))
    assert F.null_space(most=2).shape == (40, 2)
    assert F.null_space(most=10**10).shape == (40, 4)  # room for as many as there can be
    wrong = known.copy()
    wrong[5, 2] = 1.5
    with pytest.raises(pymetapack.InputError, match="vector 3 is none of the kernel") as caught:
        F.null_space(wrong)
    assert caught.value.index == 2
    with pytest.raises(pymetapack.InputError, match="depends"):
        F.null_space(known[:, [0, 0]])
    with pytest.raises(pymetapack.InputError, match="not orthonormal"):
        F.lstsq(np.ones(40), known)
    with pytest.raises(ValueError):
        F.null_space(np.ones(7))
    with pytest.raises(ValueError):
        F.null_space(known, most=2)
    with pytest.raises(TypeError):
        F.null_space(1j * known)


def test_others_are_refused():
    F = pymetapack.ildl(sp.eye(50, format="csc") * 2)
    with pytest.raises(NotImplementedError):
        F.null_space()
