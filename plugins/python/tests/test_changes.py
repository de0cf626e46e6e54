# SPDX-License-Identifier: BSD-3-Clause
"""A few values changed, rows added and removed: beside dense algebra and whole factorizations."""

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp


def kkt(n=60, m=20, dtype=float, seed=1):
    rng = np.random.default_rng(seed)
    H = sp.diags(rng.uniform(1, 2, n)) + sp.random(n, n, 0.03, random_state=rng)
    B = sp.random(m, n, 0.1, random_state=rng) + sp.eye(m, n)
    K = sp.bmat([[H + H.T, B.T], [B, None]], "csc").astype(dtype)
    if np.dtype(dtype).kind == "c":
        K = K + 1j * (sp.triu(K, 1) - sp.tril(K, -1))
    K.sort_indices()
    return sp.csc_matrix(K)


@pytest.mark.parametrize("dtype", [np.float64, np.complex128, np.float32])
@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_matrix])
def test_entries(dtype, form):
    A = form(kkt(dtype=dtype))
    hermitian = A.dtype.kind == "c"
    F = mp.ldl(A, hermitian=hermitian, updates=True)
    rng = np.random.default_rng(2)
    for _ in range(5):
        i = int(rng.integers(A.shape[0]))
        at = [k for k in range(A.nnz) if A.indices[k] == i and A.indptr[i] <= k < A.indptr[i + 1]]
        if not at:
            continue
        A.data[at] *= 3
        assert F.refactor_entries(at, A.data[at]) is F
        G = mp.ldl(A, hermitian=hermitian)
        b = np.ones(A.shape[0])
        assert F.inertia == G.inertia
        assert np.allclose(A @ F.solve(b), b, atol=1e-3 if dtype == np.float32 else 1e-10)
    assert 0 < F.stats()["factor"]["redone"] <= 1 and F.stats()["factor"]["kept_bytes"] > 0


def test_entries_refused():
    A = kkt()
    F = mp.ldl(A, updates=True)
    x = F.solve(np.ones(80))
    for entries, values, error in [
        ([A.nnz], [1.0], IndexError),
        ([-1], [1.0], IndexError),
        ([0.5], [1.0], TypeError),
        ([1, 2], [1.0], ValueError),
        ([1], [1j], TypeError),
        ([1], [np.nan], mp.InputError),
    ]:
        with pytest.raises(error):
            F.refactor_entries(entries, values)
    assert (F.solve(np.ones(80)) == x).all()
    off = next(k for k in range(A.nnz) if A.indices[k] > 0 and k < A.indptr[1])
    with pytest.raises(mp.InputError):  # one triangle alone
        F.refactor_entries([off], [7.0])
    with pytest.raises(TypeError):
        mp.ldl(A.toarray()).refactor_entries([0], [1.0])
    general = mp.lu(sp.csr_matrix(A))
    with pytest.raises(TypeError, match=r"was CSC \(CSR only where A is symmetric\)"):
        general.refactor_entries([0], [1.0])
    with pytest.raises(TypeError, match=r"was CSC \(CSR only where A is symmetric\)"):
        general.refactor(A.data)
    assert mp.lu(sp.csc_matrix(A)).refactor_entries([0], [A.data[0]]).shape == A.shape


def test_bordered_singular():
    W = mp.ldl(np.diag([1.0, 2, 4])).bordered(2)
    W.add([0], [1.0], 1.0)  # the row of 0 once more
    with pytest.warns(mp.ZeroPivotWarning, match="singular") as told:
        x = W.solve([1, 0, 0, 1, 0])
    assert len(told) == 1 and told[0].filename == __file__
    assert np.allclose([x[0] + x[3], x[1], x[2]], [1, 0, 0])
    with pytest.raises(mp.SingularMatrixError):
        W.solve([1, 0, 0, 2, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_bordered(dtype):
    A = kkt(dtype=dtype)
    n = A.shape[0]
    hermitian = np.dtype(dtype).kind == "c"
    F = mp.ldl(A, hermitian=hermitian)
    rng = np.random.default_rng(3)
    W = F.bordered(8)
    M = np.zeros((W.size, W.size), dtype)
    M[:n, :n] = A.toarray()
    there = set(range(n))
    for step in range(6):
        rows = rng.choice(sorted(there), 5, replace=False)
        values = rng.standard_normal(5).astype(dtype)
        if hermitian:
            values = values + 1j * rng.standard_normal(5)
        k = W.add(rows, values, 2.0)
        M[rows, k], M[k, rows], M[k, k] = values, values.conj(), 2
        there.add(k)
        if step % 2:
            gone = 7 * step
            W.remove(gone)
            there.discard(gone)
        if step == 3:
            W.restore(7)
            there.add(7)
        at = sorted(there)
        S = M[np.ix_(at, at)]
        b = np.full((W.size, 2), np.nan, dtype)
        x = rng.standard_normal((len(at), 2))
        b[at] = S @ x
        y = W.solve(b)
        assert np.allclose(y[at], x, atol=1e-9)
        assert not y[sorted(set(range(W.size)) - there)].any()
        w = np.linalg.eigvalsh(S)
        assert W.inertia == (int((w > 0).sum()), int((w < 0).sum()), 0) and W.certified
    assert (W.added, W.removed) == (6, 2) and W.refactorize
    with pytest.raises(mp.MetapackError):
        W.add([0], [1])
    assert W.stats()["removed"] == 2 and "6 added" in repr(W)
    with pytest.raises(IndexError):
        W.add([W.size], [1])
    F.refactor(A)
    with pytest.raises(mp.ArgumentError):
        W.solve(b)
    W.close()
    W.close()
    F.solve(np.ones(n))
