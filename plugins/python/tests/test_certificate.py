# SPDX-License-Identifier: BSD-3-Clause
"""Certificates of an inertia: when they are asked for, and what a solve says without one."""

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp

SINGULAR = [3, 3, -3, 1, -1, 1, 3, -1, -3, -2, 2, -2, -2, 2, -1, 0, 3, 2]  # half-bandwidth 6, c = 3
WRONG = [-3, 3, -3, -2, -1, -1, -1, 2, 2, -1, -2, 3, -3, 2, 2, 2, 3, 3, 1, -2]  # 2, 35


def crafted(d, width, c):
    """L D Lᵀ, exact: integers, with -c on `width` diagonals of L."""
    n = len(d)
    lower = np.eye(n, dtype=np.int64)
    for k in range(1, width + 1):
        lower -= c * np.eye(n, k=-k, dtype=np.int64)
    return sp.csc_matrix((lower @ np.diag(d) @ lower.T).astype(float))


def test_asked_when_it_is_read():
    a = sp.diags([[2.0, -3, 4], [1, 1]], [0, 1]).toarray()
    factor = mp.ldl(sp.csc_matrix(np.triu(a) + np.triu(a, 1).T))
    inertia = factor.inertia
    assert inertia == (2, 1, 0) and repr(inertia) == "Inertia(positive=2, negative=1, zero=0)"
    assert not factor.stats()["factor"]["inertia"]["examined"]
    assert inertia.certified and factor.certified
    assert factor.stats()["factor"]["inertia"]["examined"]
    found = factor.certificate
    assert found.certified and found.vectors == 1 and found.contraction < 1e-10
    assert 0 < found.miss_bound <= 1e-9
    factor.refactor(sp.csc_matrix(2 * (np.triu(a) + np.triu(a, 1).T)))
    with pytest.raises(mp.ArgumentError, match="other values"):
        inertia.certified
    assert factor.inertia.certified


def test_wrong_is_not_certified():
    a = crafted(WRONG, 2, 35)
    factor = mp.ldl(a)
    true = (sum(d > 0 for d in WRONG), sum(d < 0 for d in WRONG), 0)
    assert not factor.certified or factor.inertia == true
    assert mp.ldl(crafted(SINGULAR, 6, 3), singular="ignore").certificate.contraction > 0.1


def test_a_solution_of_many_is_not_silent():
    a = crafted(SINGULAR, 6, 3)
    b = np.array([1.0 + i * 7 % 5 for i in range(a.shape[0])])  # A does not reach it
    factor = mp.ldl(a, singular="ignore")
    with pytest.warns(mp.InaccurateWarning, match="singular to working precision|asked for"):
        factor.solve(b)


@pytest.mark.filterwarnings("ignore::pymetapack.ZeroPivotWarning")
def test_dense():
    rng = np.random.default_rng(4)
    a = rng.standard_normal((40, 40))
    factor = mp.ldl_dense(a + a.T)
    assert factor.inertia.certified and factor.certificate.vectors <= 2
    assert not mp.ldl_dense(crafted(WRONG, 2, 35).toarray()).certificate.certified


@pytest.mark.parametrize("lower", [True, False])
def test_batch(lower):
    rng = np.random.default_rng(5)
    a = rng.standard_normal((7, 12, 12)) + 1j * rng.standard_normal((7, 12, 12))
    a += a.conj().transpose(0, 2, 1)
    wrong = np.zeros((1, 20, 20))
    wrong[0] = crafted(WRONG, 2, 35).toarray()
    factor = mp.ldl_batch(a, lower=lower, hermitian=True)
    assert factor.certified(a).all()
    assert not mp.ldl_batch(wrong, lower=lower).certified(wrong).any()
    with pytest.raises(ValueError, match="shape"):
        factor.certified(wrong)
