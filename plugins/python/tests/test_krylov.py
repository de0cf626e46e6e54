# SPDX-License-Identifier: BSD-3-Clause
"""Krylov methods on matrices, operators and preconditioners of any make."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

import pymetapack as mp
from support import DTYPES, random_values, symmetric

INDEFINITE = [mp.sqmr, mp.minres, mp.symmlq, mp.gmres, mp.fgmres, mp.bicgstab, mp.idr]


def system(dtype=np.float64, hermitian=False, n=40, definite=False):
    rng = np.random.default_rng(3)
    a = symmetric(rng, n, dtype, hermitian, 0.2)
    sign = 1 if definite else rng.choice([-1, 1], n)
    return a + np.diag((10 + rng.random(n)) * sign).astype(dtype), random_values(rng, n, dtype)


def good(a, x, b, tolerance):
    return np.linalg.norm(b - a @ x) <= 1.01 * tolerance * np.linalg.norm(b)


@pytest.mark.parametrize("solver", INDEFINITE)
@pytest.mark.parametrize("form", ["csc", "csr", "dense", "operator", "lower"])
def test_real(solver, form):
    a, b = system()
    given = {
        "csc": sp.csc_matrix(a), "csr": sp.csr_array(a), "dense": a,
        "operator": LinearOperator(a.shape, matvec=lambda x: a @ x, dtype=float),
        "lower": sp.csr_matrix(np.tril(a)),
    }[form]  # fmt: skip
    lower = True if form == "lower" else None
    x, info = solver(given, b, rtol=1e-9, lower=lower)
    assert info == 0 and isinstance(info, int) and info.residual <= 1e-9
    assert good(a, x, b, 1e-9) and x.shape == b.shape and x.dtype == np.float64
    assert 1 <= info.iterations and len(info.history) and info.message == ""
    m = mp.ildl(a)
    for M in (m, m.aspreconditioner(abs=True), sp.diags(1 / abs(np.diag(a))), lambda v: v / 12):
        x, info = solver(given, b[:, None], M=M, rtol=1e-9, lower=lower)
        assert info == 0 and good(a, x[:, 0], b, 1e-9) and info.applications > 0


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_types(dtype, hermitian):
    a, b = system(dtype, hermitian)
    tolerance = 1e-5 if np.finfo(dtype).bits == 32 else 1e-10
    for solver in (mp.sqmr, mp.gmres):
        for M in (None, mp.ldl(a, hermitian=hermitian)):
            x, info = solver(a, b, M=M, rtol=tolerance, hermitian=hermitian)
            assert info == 0 and x.dtype == dtype
            assert good(a.astype(complex), x, b, 2 * tolerance)


def test_cg():
    a, b = system(definite=True)
    a += 20 * np.eye(40)
    x, info = mp.cg(a, b, rtol=1e-10)
    assert info == 0 and good(a, x, b, 1e-10)


def test_general_matrices():
    a, b = system()
    a += np.triu(np.ones_like(a), 1) * 0.1
    for solver in (mp.gmres, mp.fgmres, mp.bicgstab, mp.idr):
        x, info = solver(sp.csr_matrix(a), b, rtol=1e-9)
        assert info == 0 and good(a, x, b, 1e-9)
    with pytest.raises(mp.InputError, match="not symmetric"):
        mp.sqmr(a, b)


def test_first_guess_and_callback():
    a, b = system()
    exact = np.linalg.solve(a, b)
    seen = []
    x, info = mp.sqmr(a, b, x0=exact, callback=seen.append)
    assert info == 0 and info.iterations <= 1 and np.allclose(x, exact)
    x, info = mp.sqmr(a, b, callback=seen.append)
    assert len(seen) >= info.iterations and all(isinstance(r, float) for r in seen)
    assert np.allclose(info.history, seen[-len(info.history) :])


def test_not_converged_is_told():
    a, b = system()
    x, info = mp.gmres(a, b, rtol=1e-14, maxiter=2)
    assert info > 0 and info.residual > 1e-14 and info.message and x.shape == b.shape


def test_exceptions_of_callbacks_come_through():
    a, b = system()

    def fails(x):
        raise ZeroDivisionError("mine")

    operator = LinearOperator(a.shape, matvec=fails, dtype=float)
    for call in (lambda: mp.sqmr(operator, b), lambda: mp.sqmr(a, b, M=fails),
                 lambda: mp.sqmr(a, b, callback=fails)):  # fmt: skip
        with pytest.raises(ZeroDivisionError, match="mine"):
            call()
    with pytest.raises(ValueError):
        mp.sqmr(a, b, M=lambda v: v[:3])
    with pytest.raises(mp.NumericError):
        mp.sqmr(a, b, M=lambda v: v * np.nan)
    assert mp.sqmr(a, b)[1] == 0


def test_bad_arguments():
    a, b = system()
    for call, kind in (
        (lambda: mp.sqmr(a, b[:3]), ValueError),
        (lambda: mp.sqmr(a, np.ones((40, 2))), ValueError),
        (lambda: mp.sqmr(np.ones((3, 4)), b), ValueError),
        (lambda: mp.sqmr(a, b, M=np.eye(3)), ValueError),
        (lambda: mp.sqmr(a, b, M=mp.ldl(np.eye(3))), ValueError),
        (lambda: mp.sqmr(a, b, M=mp.ldl(a.astype(np.float32))), ValueError),
        (lambda: mp.sqmr(a, b * np.nan), mp.InputError),
        (lambda: mp.sqmr(a * np.nan, b), mp.InputError),
        (lambda: mp.sqmr(a, b, M=aslinearoperator(1j * np.eye(40))), TypeError),
        (lambda: mp.sqmr(a, b, rtol=-1), mp.ArgumentError),
        (lambda: mp.gmres(a, b, restart=0), mp.ArgumentError),
        (lambda: mp.sqmr(a, b, x0=np.ones(3)), ValueError),
    ):
        with pytest.raises(kind):
            call()


def test_documented():
    for solver in INDEFINITE + [mp.cg]:
        assert "rtol" in solver.__doc__ and "Returns" in solver.__doc__
    assert "``restart``" in mp.gmres.__doc__


@pytest.mark.parametrize("solver", [mp.gmres, mp.fgmres, mp.bicgstab])
def test_complex_results_of_a_real_system(solver):
    """They were cut to their real parts without a word."""
    a, b = system()
    with pytest.raises(TypeError, match="M gives complex vectors"):
        solver(a, b, M=lambda x: x * (1 + 0.5j))
    with pytest.raises(TypeError, match="A gives complex vectors"):
        solver(LinearOperator(a.shape, matvec=lambda x: a @ x + 1j * x, dtype=np.float64), b)
    x, info = solver(a, b, M=lambda x: x.astype(complex), rtol=1e-10)
    assert info == 0 and good(a, x, b, 1e-10)
