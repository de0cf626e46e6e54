# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are not symmetric are not solved as if they were; those that nearly are, as they are.
Solutions that are none are not called good."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp

WAYS = {
    "ldl": lambda A: mp.ldl(A),
    "ldl csr": lambda A: mp.ldl(sp.csr_matrix(A)),
    "ildl": lambda A: mp.ildl(A),
    "spsolve": lambda A: mp.spsolve(A, np.ones(A.shape[0])),
    "ldl_dense": lambda A: mp.ldl_dense(A.toarray()),
    "solve_dense": lambda A: mp.solve_dense(A.toarray(), np.ones(A.shape[0])),
    "minres": lambda A: mp.minres(A, np.ones(A.shape[0])),
}


def path(n, size=1.0):
    e = np.ones(n)
    return sp.diags([-e[1:], 2 * e, -e[1:]], [-1, 0, 1]) * size


def poroelastic(E, n=40):
    h = 1.0 / n
    B = sp.diags([np.ones(n), -np.ones(n - 1)], [0, 1])
    C = path(n, 1e-10 / h) + sp.identity(n) * (1e-10 * h)
    return sp.bmat([[path(n, E / h), -B], [B.T, C]], format="csc")


def zeroed_rows(big, n=50):
    A = path(n).tolil()
    for i in (0, n - 1):
        A[i, :] = 0
        A[i, i] = big
    return A.tocsc()


def convection(dt, n=200):
    c = sp.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1]) * (n / 2)
    return (sp.identity(n) / dt + c).tocsc()


def circuit(g):
    A = np.array([[g + 1, -g, 0, 0], [-g, g + 1e-3, -1e-3, 0], [100, -1e-3, g, -g], [0, 0, -g, g + 1]])
    return sp.csc_matrix(A)


UNSYMMETRIC = {
    **{f"coupling {b:.0e}": sp.csc_matrix([[b, 1], [-1, 1]]) for b in (1e3, 1e7, 1e30)},
    **{f"poroelastic {E:.0e}": poroelastic(E) for E in (2e11, 1e7, 1.0)},
    **{f"zeroed rows {d:.0e}": zeroed_rows(d) for d in (1.0, 1e6, 1e30)},
    **{f"convection {d:.0e}": convection(d) for d in (1e-3, 1e-10)},
    **{f"circuit {g:.0e}": circuit(g) for g in (1e9, 1e6)},
    "hermitian forgotten": sp.csc_matrix([[1e7, 1j], [-1j, 1]]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", UNSYMMETRIC)
def test_unsymmetric(name, way):
    A = UNSYMMETRIC[name]
    if way == "spsolve":  # takes it for what it is
        b = A @ np.ones(A.shape[0])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mp.InaccurateWarning)
            assert componentwise(A, mp.spsolve(A, b), b) < 1e-8
        return
    with pytest.raises(mp.InputError, match="row .*, column .* is .* but row .*not symmetric"):
        WAYS[way](A)


def test_units():
    """The same coupling in any units of its rows."""
    rng = np.random.default_rng(1)
    for dtype in (np.float32, np.float64, np.complex64, np.complex128):
        for _ in range(8):
            units = 10.0 ** rng.uniform(-8, 8, 80)
            S = sp.diags(units)
            with pytest.raises(mp.InputError, match="not symmetric"):
                mp.ldl((S @ poroelastic(1e5) @ S).astype(dtype))


def componentwise(A, x, b):
    return np.max(np.abs(b - A @ x) / (abs(A) @ np.abs(x) + np.abs(b)))


def assembled(n, seed):
    """Springs of graded stiffness, added in another order in each triangle; half of them are taken away
    again, and leave what rounding leaves."""
    rng = np.random.default_rng(seed)
    springs = [(*rng.integers(0, n, 2), 10.0 ** rng.uniform(0, 4) / 3) for _ in range(4 * n)]
    springs += [(i, j, -k) for i, j, k in springs[: 2 * n]]
    A = np.eye(n)
    for triangle in (0, 1):
        for e in rng.permutation(len(springs)):
            i, j, k = springs[e]
            if i == j:
                continue
            at = (max(i, j), min(i, j))
            A[at if triangle else at[::-1]] -= k
            if triangle and k > 0:
                A[i, i] += k
                A[j, j] += k
    return sp.csc_matrix(A)


@pytest.mark.filterwarnings("ignore::pymetapack.SymmetryWarning")
@pytest.mark.parametrize("noise", [0.0, 1e-15, 1e-13, 1e-11, 1e-10])
def test_noise(noise):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        A = assembled(60, seed).toarray()
        A = A * (1 + noise * rng.uniform(-1, 1, A.shape))
        d = np.sqrt(np.diag(A))
        A = sp.csc_matrix(A + min(noise, 1e-12) * rng.uniform(-1, 1, A.shape) * d[:, None] * d)
        x = mp.ldl_dense(A.toarray()).solve(b := A @ np.ones(60))
        assert componentwise(A, x, b) <= 1e-13
        A[3, 3] += 1e30
        b = A @ np.ones(60)
        for form in (sp.csc_matrix, sp.csr_matrix):
            with warnings.catch_warnings():
                warnings.simplefilter("error", mp.InaccurateWarning)
                F = mp.ldl(form(A))
                x = F.solve(b)
                assert componentwise(A, x, b) <= 1e-13
                said = F.stats()["solve"]["componentwise"]
                assert abs(said - componentwise(A, x, b)) <= 2e-15
        x = mp.solve_dense(A.toarray(), b)
        assert componentwise(A, x, b) <= 1e-13


@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_matrix, sp.coo_matrix, "dense"])
def test_solved_as_given(form):
    """Beyond rounding, within the tolerance: said, and solved as it is, also after other values."""
    rng = np.random.default_rng(3)
    for dtype in (np.float64, np.complex128):
        for hermitian in (False, True)[: 1 + (dtype == np.complex128)]:
            S = (path(50) + sp.identity(50)).toarray().astype(dtype)
            A = S * (1 + 1e-4 * rng.uniform(-1, 1, S.shape))
            A[4, 30] = 1e-3
            b = A @ np.ones(50)
            make = mp.ldl_dense if form == "dense" else mp.ldl
            with pytest.warns(mp.SymmetryWarning, match="differ in"):
                F = make(A if form == "dense" else form(A), hermitian=hermitian, symmetry_tolerance=0.1)
            x = F.solve(b)
            assert componentwise(A, x, b) <= 1e-13
            assert np.abs(x - 1).max() < 1e-10
            if form == "dense":
                continue
            with pytest.warns(mp.SymmetryWarning):
                F.refactor(form(2 * A))
            assert componentwise(2 * A, F.solve(b), b) <= 1e-13
            with pytest.warns(mp.SymmetryWarning):  # another format: the pattern by another way
                F.refactor(sp.csc_matrix(3 * A) if form != sp.csc_matrix else sp.csr_matrix(3 * A))
            assert componentwise(3 * A, F.solve(b), b) <= 1e-13


def free_rows(tgv, shift, m=30):
    K = (sp.kron(path(m), sp.identity(m)) + sp.kron(sp.identity(m), path(m))).tocsc()
    d = np.full(m * m, -shift)
    d[:m] = tgv
    b = np.ones(m * m)
    b[:m] = tgv
    return (K + sp.diags(d)).tocsc(), b


@pytest.mark.parametrize("tgv", [1e6, 1e10, 1e30, 1e100])
def test_penalty(tgv):
    """An incomplete solve that misses the rows that are not penalised says so."""
    A, b = free_rows(tgv, 0.3)
    for options in ({}, {"level": 0, "drop_tolerance": 1e-2, "max_iterations": 20}):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            x = mp.ildl(A, **options).solve(b)
        good = componentwise(A, x, b) <= 1e-8
        assert good or said
        if componentwise(A, x, b) <= 1e-14:
            assert not said


@pytest.mark.parametrize("big", [1.0, 1e6, 1e10, 1e30])
def test_contradiction(big):
    """A floating body, with a load that it cannot bear, or can, beside rows of any size."""
    N = path(30).tolil()
    N[0, 0] = N[29, 29] = 1
    A = sp.block_diag([sp.identity(3) * big, N], format="csc")
    bad, good = np.r_[big * np.ones(3), np.ones(30)], np.r_[big * np.ones(3), np.tile([1.0, -1], 15)]
    for solve in (
        lambda b: mp.ldl(A, singular="ignore").solve(b),
        lambda b: mp.spsolve(A, b),
        lambda b: mp.ldl_dense(A.toarray(), singular="ignore").solve(b),  # "or badly scaled"
        lambda b: mp.solve_dense(A.toarray(), b),
    ):
        with pytest.raises(mp.SingularMatrixError, match="inconsistent"):
            solve(bad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.ZeroPivotWarning)
        assert componentwise(A, mp.spsolve(A, good), good) <= 1e-12
    with pytest.warns(mp.MetapackWarning):
        F = mp.ldl_batch(A.toarray()[None])
        F.solve(bad[None])


def test_contradicting_constraints():
    E = 2e11
    K = path(10, E).tolil()
    K[9, 9] = E
    J = sp.csr_matrix(([1.0, 1, 1, -1, 1, -1], ([0, 0, 1, 1, 2, 2], [2, 3, 4, 5, 4, 5])), shape=(3, 10))
    A = sp.bmat([[K, J.T], [J, None]], format="csc")
    b = np.r_[np.zeros(9), 1e6, 0.0, 0.001, 0.002]
    with pytest.raises(mp.SingularMatrixError, match="inconsistent"):
        mp.spsolve(A, b)
    with pytest.raises(mp.SingularMatrixError, match="inconsistent"):
        mp.solve_dense(A.toarray(), b)
    with pytest.warns(mp.MetapackWarning):
        mp.ildl(A).solve(b)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mp.ZeroPivotWarning)
        b[-1] = 0.001
        x = mp.spsolve(A, b)
    assert componentwise(A, x, b) <= 1e-12


def test_rank_deficient_dense():
    rng = np.random.default_rng(0)
    q, _ = np.linalg.qr(rng.standard_normal((120, 40)))
    A = q @ np.diag(np.r_[np.ones(20), -np.ones(20)]) @ q.T
    A = (A + A.T) / 2
    F = mp.ldl_dense(A, singular="ignore")
    assert not F.certified
    with pytest.raises(mp.SingularMatrixError, match="inconsistent"):
        mp.solve_dense(A, rng.standard_normal(120))
