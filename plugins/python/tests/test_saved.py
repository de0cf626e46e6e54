# SPDX-License-Identifier: BSD-3-Clause
"""Analyses and factors in files, in pickles, in other processes; trees out and in."""

import copy
import multiprocessing
import os
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp
from support import DTYPES, symmetric


def matrix(dtype=np.float64, n=60, hermitian=False):
    rng = np.random.default_rng(5)
    return sp.csc_matrix(symmetric(rng, n, dtype, hermitian, 0.1, True) + 0.1 * np.eye(n, dtype=dtype))


def same(F, G):
    """Two factors tell and solve the same, to the last bit."""
    b = np.arange(3.0 * F.shape[0]).reshape(-1, 3)
    assert F.dtype == G.dtype and F.inertia == G.inertia and F.nnz == G.nnz
    assert F.certificate == G.certificate
    for name in ("perm", "scale"):
        np.testing.assert_array_equal(getattr(F, name), getattr(G, name))
    assert (F.D != G.D).nnz == 0 and F.slogdet == G.slogdet
    np.testing.assert_array_equal(F.solve(b), G.solve(b))
    np.testing.assert_array_equal(F.solve(b[:, 0]), G.solve(b[:, 0]))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", ["csc", "csr", "lower", "dense"])
def test_a_factor_in_a_file(tmp_path, dtype, form):
    A = matrix(dtype)
    given = {"csc": A, "csr": A.tocsr(), "lower": sp.tril(A, format="csc"), "dense": A.toarray()}[form]
    how = {"lower": True} if form == "lower" else {}
    F = mp.ldl(given, **how)
    F.save(tmp_path / "f")
    G = mp.load(tmp_path / "f", given, **how)
    same(F, G)
    same(F.refactor(given * 2), G.refactor(given * 2))
    assert os.listdir(tmp_path) == ["f"]


def test_hermitian_single_singular(tmp_path):
    H = matrix(np.complex128, hermitian=True)
    F = mp.ldl(H, hermitian=True)
    F.save(tmp_path / "f")
    same(F, mp.load(tmp_path / "f", H, hermitian=True))
    with pytest.raises(mp.ArgumentError, match="another symmetry"):
        mp.load(tmp_path / "f", H + H.T)
    K = mp.generate("nlpkkt 6")
    F = mp.ldl(K, precision="single")
    F.save(str(tmp_path / "f"))
    G = mp.load(str(tmp_path / "f"), K)
    assert G.stats()["factor"]["precision"] == "single"
    same(F, G)
    S = sp.csc_matrix([[1.0, 2, 0], [2, 4, 0], [0, 0, 1]])
    F = mp.ldl(S, singular="ignore")
    F.save(tmp_path / "f")
    with pytest.warns(mp.ZeroPivotWarning):
        G = mp.load(tmp_path / "f", S)
    assert G.rank == 2 and G.status == "singular"
    np.testing.assert_array_equal(F.null_space(), G.null_space())


def test_refactor_has_the_options_of_load(tmp_path):
    """Those of the process that saved are given again for the same bits."""
    K = mp.generate("nlpkkt 6")
    F = mp.ldl(K, precision="single", pivot_threshold=0.5)
    F.save(tmp_path / "f")
    G = mp.load(tmp_path / "f", K, precision="single", pivot_threshold=0.5)
    same(F.refactor(2 * K), G.refactor(2 * K))
    assert mp.load(tmp_path / "f", K).refactor(K).stats()["factor"]["precision"] == "double"


def test_an_inertia_is_pickled():
    """A worker returns it."""
    A = matrix()
    for found in (pickle.loads(pickle.dumps(mp.ldl(A).inertia)), copy.deepcopy(mp.ldl(A).inertia)):
        assert found == mp.ldl(A).inertia and type(found) is mp.Inertia and not found.certified


def test_an_analysis_in_a_file(tmp_path):
    A = matrix()
    F = mp.ldl(A, ordering="natural")
    F.save_analysis(tmp_path / "a")
    same(F, mp.ldl(A, analysis=tmp_path / "a"))
    B = A.copy()
    B.data = B.data * np.where(B.data > 0, 2.0, 1.0)
    G = mp.ldl(B, analysis=tmp_path / "a")
    assert np.array_equal(G.tree.perm, F.tree.perm)
    np.testing.assert_allclose(B @ G.solve(np.ones(60)), np.ones(60), rtol=1e-6)
    F.save(tmp_path / "f")  # a factor has one, too
    same(F, mp.ldl(A, analysis=tmp_path / "f"))
    P = mp.ildl(A, level=2)
    P.save_analysis(tmp_path / "p")
    np.testing.assert_array_equal(
        P.aspreconditioner() @ np.ones(60),
        mp.ildl(A, level=2, analysis=tmp_path / "p").aspreconditioner() @ np.ones(60),
    )
    with pytest.raises(ValueError, match="another method"):
        mp.ldl(A, analysis=tmp_path / "p")
    with pytest.raises(ValueError, match="another method"):
        mp.ildl(A, analysis=tmp_path / "a")
    with pytest.raises(mp.UnsupportedError):
        P.save(tmp_path / "p")
    with pytest.raises(mp.ArgumentError, match="no factor"):
        mp.load(tmp_path / "a", A)


def test_memory_limit_of_who_loads(tmp_path):
    A = mp.generate("nlpkkt 6")
    path = str(tmp_path / "A.analysis")
    mp.ldl(A).save_analysis(path)
    with pytest.raises(MemoryError, match="memory_limit"):
        mp.ldl(A, analysis=path, memory_limit=1e4)


def test_refused(tmp_path):
    A = matrix()
    F = mp.ldl(A)
    name = str(tmp_path / "half\0")
    for ask in (F.save, F.save_analysis, mp.read, lambda path: mp.load(path, A)):
        with pytest.raises(ValueError, match="null character"):
            ask(name)
    assert not os.listdir(tmp_path)
    F.save(tmp_path / "f")
    whole = (tmp_path / "f").read_bytes()
    with pytest.raises(mp.ArgumentError, match="another pattern"):
        mp.load(tmp_path / "f", matrix(n=61))
    with pytest.raises(mp.ArgumentError, match="another scalar"):
        mp.load(tmp_path / "f", A.astype(np.complex128))
    with pytest.raises(OSError, match="nothing.there"):
        mp.load(tmp_path / "nothing.there", A)
    with pytest.raises(OSError, match="nowhere"):
        F.save(tmp_path / "nowhere" / "f")
    with pytest.raises(OSError, match="/dev/full"):
        F.save("/dev/full")
    for at in range(0, len(whole), 997):
        (tmp_path / "g").write_bytes(whole[:at])
        with pytest.raises(mp.FormatError):
            mp.load(tmp_path / "g", A)
    changed = bytearray(whole)
    changed[len(whole) // 2] ^= 1
    (tmp_path / "g").write_bytes(changed)
    with pytest.raises(mp.FormatError, match="damaged"):
        mp.load(tmp_path / "g", A)
    F.close()
    with pytest.raises(mp.ArgumentError):
        F.save(tmp_path / "f")
    assert (tmp_path / "f").read_bytes() == whole


def test_pickled_and_copied():
    for A, how in [(matrix(), {}), (matrix(np.complex64, hermitian=True), {"hermitian": True}),
                   (sp.tril(matrix(), format="csr"), {"lower": True})]:  # fmt: skip
        F = mp.ldl(A, **how, threads=1)
        for G in (pickle.loads(pickle.dumps(F)), copy.copy(F), copy.deepcopy(F)):
            same(F, G)
            same(F.refactor(A * 3), G.refactor(A * 3))
            F.refactor(A)


def _solve(work):
    F, b = work
    return F.solve(b)


def _factorize(work):
    path, A = work
    return mp.ldl(A, analysis=path).solve(np.ones(A.shape[0]))


def test_workers(tmp_path):
    """A parameter study: workers that are given a factor, and workers that share an analysis."""
    A = matrix()
    F = mp.ldl(A)
    F.save_analysis(tmp_path / "a")
    b = np.arange(60.0)
    study = [A + k * sp.identity(60, format="csc") for k in (0.0, 0.5)]
    expected = [F.solve(b), mp.ldl(study[1], analysis=tmp_path / "a").solve(np.ones(60))]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        np.testing.assert_array_equal(pool.map(_solve, [(F, b)])[0], expected[0])
        there = pool.map(_factorize, [(tmp_path / "a", K) for K in study])
    np.testing.assert_array_equal(there[1], expected[1])


def test_trees():
    A = matrix()
    F = mp.ldl(A)
    tree = F.tree
    assert isinstance(tree, mp.Tree) and sorted(tree.perm) == list(range(60))
    assert tree.first[0] == 0 and tree.first[-1] == 60 and len(tree.parent) == len(tree.first) - 1
    for s, p in enumerate(tree.parent):
        rows = tree.row[tree.row_first[s] : tree.row_first[s + 1]]
        assert (p == -1) == (len(rows) == 0)
        assert p == -1 or tree.first[p] <= rows[0] < tree.first[p + 1]
    G = mp.ldl(A, tree=tree)
    for mine, theirs in zip(tree, G.tree):
        np.testing.assert_array_equal(mine, theirs)
    same(F, G)
    chain = (np.arange(60), np.arange(61), [*range(1, 60), -1])
    np.testing.assert_allclose(A @ mp.ldl(A, tree=chain).solve(np.ones(60)), np.ones(60), rtol=1e-6)
    with pytest.raises(mp.ArgumentError, match="does not fit the pattern"):
        mp.ldl(A, tree=(np.arange(60), np.arange(61), [-1] * 60))
    with pytest.raises(ValueError, match="order 60"):
        mp.ldl(A, tree=(np.arange(3), np.arange(4), [-1] * 3))
    with pytest.raises(ValueError, match="one entry more"):
        mp.ldl(A, tree=(np.arange(60), np.arange(60), [-1] * 60))
    with pytest.raises(TypeError, match="integers"):
        mp.ldl(A, tree=(np.arange(60.0), np.arange(61), [-1] * 60))
    with pytest.raises(ValueError, match="give one"):
        mp.ldl(A, tree=tree, analysis="x")
    assert mp.ildl(A).tree is None
