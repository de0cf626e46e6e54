# SPDX-License-Identifier: BSD-3-Clause
"""A hundred random matrices of all kinds, in all forms, beside dense NumPy."""

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack
from support import DTYPES, check_inertia, check_solution, kkt, random_values, symmetric

pytestmark = pytest.mark.filterwarnings("ignore::scipy.sparse.SparseEfficiencyWarning")
FORMATS = ["csc", "csr", "coo", "lil", "dok", "bsr", "dia", "array", "dense"]


def in_format(a, form, rng):
    if form == "dense":
        return a.copy(order=rng.choice(["C", "F"]))
    if form == "array":
        return sp.csr_array(a)
    m = sp.coo_matrix(a).asformat(form)
    if form in ("csc", "csr") and rng.random() < 0.5:
        m.indices, m.indptr = m.indices.astype(np.int64), m.indptr.astype(np.int64)
    return m


def case(seed):
    rng = np.random.default_rng(seed)
    dtype = DTYPES[seed % 4]
    hermitian = np.dtype(dtype).kind == "c" and seed % 8 >= 4
    n = int(rng.integers(1, 60))
    kind = seed % 5
    if kind == 4 and np.dtype(dtype).kind != "c":
        a = kkt(rng, n + 1, max(1, n // 2), dtype)
    elif kind == 3:
        n += n % 2
        half = random_values(rng, (n // 2, n // 2), dtype)
        zero = np.zeros_like(half)
        a = np.block([[zero, half.conj().T if hermitian else half.T], [half, zero]])
    else:
        a = symmetric(rng, n, dtype, hermitian, density=[0.1, 0.5, 1.0][kind % 3])
        if kind == 1:  # regular for certain
            shift = np.abs(a).sum(axis=1).astype(dtype) * rng.choice([-1, 1], n)
            a = a + np.diag(shift).astype(dtype)
    return rng, a, hermitian


@pytest.mark.parametrize("seed", range(100))
def test_agrees_with_dense(seed):
    rng, a, hermitian = case(seed)
    n = len(a)
    form = FORMATS[seed % len(FORMATS)]
    lower = [None, True, False][seed % 3]
    given = a
    if lower is not None:  # rubbish in the other triangle is not looked at
        given = np.tril(a) if lower else np.triu(a)
        rubbish = np.triu(np.ones_like(a), 1) if lower else np.tril(np.ones_like(a), -1)
        given = given + (rubbish if seed % 2 else 0 * rubbish)
    factor = pymetapack.ldl(
        in_format(given, form, rng), lower=lower, hermitian=hermitian, singular="ignore"
    )
    if a.dtype.kind != "c" or hermitian:
        check_inertia(a, factor.inertia)
    assert factor.dtype == a.dtype and factor.shape == (n, n)
    if np.linalg.cond(a) > 0.01 / np.finfo(a.dtype).eps:
        return
    assert factor.status == "ok"
    shape = [(n,), (n, 1), (n, 3)][seed % 3]
    b = random_values(rng, shape, a.dtype)
    x = factor.solve(np.asarray(b, order="CF"[seed % 2]))
    assert x.shape == b.shape and x.dtype == a.dtype
    check_solution(a, x, b)
    y = pymetapack.spsolve(in_format(given, form, rng), b, lower=lower, hermitian=hermitian)
    check_solution(a, y, b)
    sign, log = np.linalg.slogdet(a)
    assert abs(factor.slogdet.sign - sign) < 1e-3
    assert abs(factor.logdet - log) <= 1e-3 * max(1, abs(log))


def test_hundred_has_all_kinds():
    """The cases above reach every type, both symmetries, and both kinds of regularity."""
    seen = set()
    for seed in range(100):
        _, a, hermitian = case(seed)
        regular = np.linalg.cond(a) <= 0.01 / np.finfo(a.dtype).eps
        seen.add((a.dtype.char, hermitian, bool(regular)))
    for char, hermitian in (
        ("f", False),
        ("d", False),
        ("F", False),
        ("F", True),
        ("D", False),
        ("D", True),
    ):
        assert (char, hermitian, True) in seen
    assert any(not regular for _, _, regular in seen)
