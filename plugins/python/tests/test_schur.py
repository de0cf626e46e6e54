# SPDX-License-Identifier: BSD-3-Clause
"""Schur complements against NumPy."""

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, ROOT, kkt, random_values, symmetric

import pymetapack


@pytest.fixture
def rng():
    return np.random.default_rng(11)


def dense_schur(a, outer):
    inner = np.setdiff1d(np.arange(len(a)), outer)
    part = a[np.ix_(inner, inner)]
    s = a[np.ix_(outer, outer)] - a[np.ix_(outer, inner)] @ np.linalg.solve(part, a[np.ix_(inner, outer)])
    return s, part


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("k", [0, 1, 7, 24, 25])
def test_against_numpy(rng, dtype, hermitian, k):
    n = 25
    a = symmetric(rng, n, dtype, hermitian) + 2 * np.diag(np.where(np.arange(n) % 3, 1, -1)).astype(dtype)
    outer = rng.permutation(n)[:k]
    want, part = dense_schur(a, outer)
    bound = 1e3 * np.finfo(dtype).eps * (np.linalg.cond(part) if k < n else 1)
    c = pymetapack.schur(sp.csc_matrix(a), outer, hermitian=hermitian)
    assert np.abs(c.S - want).max(initial=0) <= bound * max(np.abs(a).max(), np.abs(want).max(initial=0))
    assert np.array_equal(c.S, c.S.conj().T if hermitian else c.S.T)
    assert not c.S.flags.writeable and c.S.dtype == dtype
    if np.dtype(dtype).kind != "c" or hermitian:
        values = np.linalg.eigvalsh(part) if k < n else np.empty(0)
        assert c.inertia == ((values > 0).sum(), (values < 0).sum(), 0)
    for shape in ((n,), (n, 3)):
        b = random_values(rng, shape, dtype)
        x2 = np.linalg.solve(c.S, c.condense(b)) if k else np.empty((0, *shape[1:]), dtype)
        x = c.expand(b, x2)
        assert np.array_equal(x[outer], x2)
        scale = np.abs(a).sum() * np.abs(x).max()
        assert np.abs(a @ x - b).max() <= 1e2 * bound * scale
        y = c.solve(b)
        assert y.dtype == dtype and np.abs(a @ y - b).max() <= 1e2 * np.finfo(dtype).eps * scale


def test_variables(rng):
    a = kkt(rng, 20, 8)
    want = pymetapack.schur(a, [25, 26, 27]).S
    mask = np.zeros(28, bool)
    mask[25:] = True
    for variables in (mask, [-3, -2, -1], np.arange(25, 28), (25, 26, 27)):
        c = pymetapack.schur(a, variables)
        assert np.array_equal(c.S, want) and list(c.variables) == [25, 26, 27]
    assert pymetapack.schur(a, []).S.shape == (0, 0)
    for wrong, error in (([1, 1], pymetapack.ArgumentError), ([28], IndexError), ([1.5], TypeError),
                         ([[1]], ValueError), ([True], ValueError)):  # fmt: skip
        with pytest.raises(error):
            pymetapack.schur(a, wrong)


def test_new_values(rng):
    a = sp.csc_matrix(kkt(rng, 30, 10))
    outer = [3, 39, 12]
    c = pymetapack.schur(a, outer)
    first = c.S
    for k in (2.0, -3.0):
        assert c.refactor(k * a) is c
        assert np.allclose(c.S, k * first, rtol=1e-10)
    assert first is not c.S
    with pytest.raises(pymetapack.PatternError):
        c.refactor(sp.csc_matrix(np.ones((40, 40))))
    with pytest.raises(pymetapack.PatternError):
        c.refactor(sp.identity(39, format="csc"))
    x = c.solve(np.ones(40) + 1j)
    assert np.allclose(-3 * (a @ x), np.ones(40) + 1j)
    b = np.ones(40) + 2j
    assert np.allclose(c.expand(b, np.linalg.solve(c.S, c.condense(b))), c.solve(b))


def test_singular_interiors():
    path = np.array([[1.0, -1, 0, 1], [-1, 2, -1, 1], [0, -1, 1, 1], [1, 1, 1, 7]])
    with pytest.raises(pymetapack.SingularMatrixError, match="no Schur complement"):
        pymetapack.schur(path, [3], singular="ignore")
    path[3, :3] = path[:3, 3] = [1, -1, 0]
    with pytest.warns(pymetapack.ZeroPivotWarning, match="interior"):
        c = pymetapack.schur(path, [3])
    assert np.allclose(c.S, 6) and c.inertia.zero == 1 and not c.certified
    with pytest.raises(pymetapack.SingularMatrixError):
        pymetapack.schur(path, [3], singular="raise")
    with pytest.raises(pymetapack.SingularMatrixError) as found:  # S is 0
        pymetapack.schur(np.ones((2, 2)), [1]).solve([1.0, 2])
    assert found.value.solution is not None


def test_refused(rng):
    a = kkt(rng, 20, 8)
    with pytest.raises(pymetapack.UnsupportedError, match="not computed on a device"):
        pymetapack.schur(a, [1], device="cuda")
    with pytest.raises(pymetapack.UnsupportedError, match="ildlt"):
        pymetapack.schur(a, [1], method="ildlt")
    c = pymetapack.schur(a, [1])
    assert c.certified and c.inertia.certified and "cpu" in c.engine and "1 of 28" in repr(c)
    for b in (np.ones(27), np.ones((28, 1, 1))):
        with pytest.raises(ValueError):
            c.condense(b)
    with pytest.raises(ValueError):
        c.expand(np.ones((28, 2)), np.ones((1, 3)))
    with pytest.raises(pymetapack.InputError):
        c.condense(np.full(28, np.nan))
    with c:
        pass
    with pytest.raises(pymetapack.ArgumentError):
        c.condense(np.ones(28))
    with pytest.raises(pymetapack.ArgumentError):
        c.S
    with pytest.raises(pymetapack.ArgumentError):
        c.inertia


def test_what_was_told_before(rng):
    """An inertia is of the values that it was asked of, and says so."""
    a = kkt(rng, 20, 8)
    c = pymetapack.schur(a, [1, 5])
    before, s = c.inertia, c.S
    assert not np.array_equal(c.refactor(2 * a).S, s)
    with pytest.raises(pymetapack.ArgumentError, match="anew"):
        before.certified
    with pytest.raises(ValueError, match="x2 has shape"):
        c.expand(np.ones(28), np.ones(3))


def test_the_example(capsys):
    path = ROOT / "plugins/python/examples/static_condensation.py"
    spec = importlib.util.spec_from_file_location("static_condensation", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    c = module.main(8, 3)
    assert c.S.shape == (32, 32) and "both ways" in capsys.readouterr().out
