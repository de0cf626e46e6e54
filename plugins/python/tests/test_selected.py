# SPDX-License-Identifier: BSD-3-Clause
"""Entries of the inverse against the whole of it: every type and form, both laws, what is refused."""

import runpy
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, ROOT, kkt, symmetric

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(1973)


def laws(dtype):
    return (False, True) if np.dtype(dtype).kind == "c" else (False,)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_matrix, sp.coo_matrix, np.asarray])
def test_against_the_whole(rng, dtype, lower, form):
    n = 30
    for hermitian in laws(dtype):
        a = symmetric(rng, n, dtype, hermitian, zero_diagonal=True)
        a += 3 * np.diag((-1.0) ** np.arange(n)).astype(dtype) * (np.arange(n) % 3 > 0)
        given = a if lower is None else np.tril(a) if lower else np.triu(a)
        factor = pymetapack.ldl(form(given), lower=lower, hermitian=hermitian)
        want = np.linalg.inv(a.astype(np.complex128))
        bound = 1e3 * np.finfo(dtype).eps * np.linalg.cond(a) * np.abs(want).max()
        z = factor.selected_inverse()
        assert z.dtype == dtype and z.shape == a.shape
        at = a != 0
        assert np.abs(z.toarray() - want)[at].max() < bound
        assert form is np.asarray or z.nnz == at.sum()
        diagonal = factor.inverse_diagonal()
        assert diagonal.dtype == dtype and np.abs(diagonal - np.diag(want)).max() < bound
        assert not hermitian or np.all(diagonal.imag == 0)
        assert factor.stats()["selected"]["deviation"] < 1e-2


def test_new_values(rng):
    a = sp.csc_matrix(kkt(rng, 20, 8))
    factor = pymetapack.ldl(a)
    first = factor.inverse_diagonal()
    assert np.allclose(factor.refactor(4 * a).inverse_diagonal(), first / 4)
    assert np.allclose(first, np.diag(np.linalg.inv(a.toarray())))


def test_stored_zeros_stay():
    a = sp.csc_matrix((np.array([2.0, 0, 0, 2.0]), np.array([0, 1, 0, 1]), np.array([0, 2, 4])))
    z = pymetapack.ldl(a).selected_inverse()
    assert z.nnz == 4 and np.array_equal(z.toarray(), np.diag([0.5, 0.5]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_marginal_variances(rng, dtype):
    hermitian = np.dtype(dtype).kind == "c"
    a = symmetric(rng, 25, dtype, hermitian)
    a = a @ a.conj().T + np.eye(25, dtype=dtype)
    factor = pymetapack.ldl(a, hermitian=hermitian)
    got = factor.marginal_variances()
    assert got.dtype.kind == "f" and np.allclose(got, np.diag(np.linalg.inv(a)).real, rtol=1e-3)
    draws = factor.sample(20_000, 3)
    assert np.allclose((np.abs(draws) ** 2).mean(axis=1), got, rtol=0.1)
    with pytest.raises(pymetapack.ArgumentError, match="definite"):
        pymetapack.ldl(a - 20 * np.eye(25, dtype=dtype), hermitian=hermitian).marginal_variances()
    assert np.allclose(pymetapack.cholesky(sp.csc_matrix(a)).factor.marginal_variances(), got)


def test_refusals(rng):
    a = kkt(rng, 12, 4)
    with pytest.raises(NotImplementedError, match="ldlt"):
        pymetapack.ildl(a).inverse_diagonal()
    with pytest.raises(NotImplementedError, match="symmetric"):
        pymetapack.ldu(np.triu(a + np.eye(16))).selected_inverse()
    with pytest.raises(pymetapack.SingularMatrixError, match="no inverse"):
        pymetapack.ldl(np.ones((3, 3)), singular="ignore").inverse_diagonal()
    closed = pymetapack.ldl(a)
    closed.close()
    with pytest.raises(pymetapack.ArgumentError):
        closed.inverse_diagonal()


def test_warnings(rng):
    hilbert = 1 / (np.arange(14)[:, None] + np.arange(14) + 1.0)
    factor = pymetapack.ldl(hilbert, zero_tolerance=0)
    with pytest.warns(pymetapack.InaccurateWarning) as caught:
        factor.selected_inverse()
    assert caught[0].filename == __file__
    factor = pymetapack.ldl(kkt(rng, 30, 10), accuracy=1e-30)  # of its solves
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        factor.inverse_diagonal()
    with pytest.warns(pymetapack.InaccurateWarning, match="error"):
        factor.inverse_diagonal(accuracy=1e-30)


def test_replaced_pivots():
    a = pymetapack.generate("stokes mac 14")
    factor = pymetapack.ldl(a, static_shift=1e-6, matching="off")
    assert factor.status == "perturbed"
    with pytest.warns(pymetapack.InaccurateWarning, match="pivots were replaced"):
        factor.inverse_diagonal()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        factor.inverse_diagonal(accuracy=1e-3)


def test_threads_leave_the_bits():
    a = pymetapack.generate("nlpkkt 8")
    one = pymetapack.ldl(a, threads=1).selected_inverse()
    two = pymetapack.ldl(a, threads=2).selected_inverse()
    assert np.array_equal(one.data, two.data)


def test_the_example():
    runpy.run_path(str(ROOT / "plugins/python/examples/markov_field.py"))["main"](30, 60)
