# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are not symmetric: ldu, spsolve(general=True), files and generators."""

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, random_values

import pymetapack as mp


def system(rng, n, dtype, fmt="csc"):
    """Random, with most of the diagonal empty; b = A x for a known x."""
    a = random_values(rng, (n, n), dtype) * (rng.random((n, n)) < 0.1)
    a = np.roll(np.diag(3 + random_values(rng, n, dtype)), 5, axis=0) + a.astype(dtype)
    x = random_values(rng, n, dtype)
    return sp.csc_matrix(a).asformat(fmt), x, a @ x


def error(a, x, b):
    a = a.toarray() if sp.issparse(a) else a
    r = np.abs(b - a @ x).max()
    return r / (np.abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fmt", ["csc", "csr", "coo", "dense"])
def test_complete(dtype, fmt):
    rng = np.random.default_rng(1)
    a, _, b = system(rng, 60, dtype)
    given = a.toarray() if fmt == "dense" else a.asformat(fmt)
    f = mp.ldu(given)
    x = f.solve(b)
    assert error(a, x, b) <= 100 * np.finfo(dtype).eps
    assert f.stats()["solve"]["krylov"]["method"] == "gmres"
    assert f.stats()["solve"]["krylov"]["iterations"] <= 3
    assert f.scale.shape == (120,) and (f.scale > 0).all()
    assert "not symmetric" in repr(f)


def test_new_values():
    rng = np.random.default_rng(2)
    a, x, b = system(rng, 50, np.float64)
    f = mp.ldu(a)
    assert error(2 * a, f.refactor(2 * a).solve(b), b) <= 1e-14
    assert error(3 * a, f.refactor(3 * a.data).solve(b), b) <= 1e-14
    with pytest.raises(mp.PatternError):
        f.refactor(a.T.tocsc())


@pytest.mark.parametrize("options", [
    {"level": 1}, {"drop_tolerance": 1e-3}, {"method": "ilu0"}, {"method": "none"},
    {"method": "jacobi", "sweeps": 20}, {"level": 1, "krylov": "bicgstab"},
    {"level": 1, "krylov": "idr"},
])  # fmt: skip
def test_incomplete(options):
    a = mp.generate("convection 20 rows=shuffled")
    b = a @ np.ones(a.shape[0])
    assert error(a, mp.ldu(a, **options).solve(b), b) <= 1e-14


def test_preconditioner():
    a = mp.generate("convection 20")
    b = a @ np.ones(a.shape[0])
    m = mp.ldu(a, level=1).aspreconditioner()
    x, info = mp.gmres(a, b, M=m, rtol=1e-10)
    assert info == 0 and np.allclose(x, 1)
    with pytest.raises(NotImplementedError, match="transpose"):
        m.T @ b
    with pytest.raises(NotImplementedError, match="transpose"):
        m.H @ b


def test_spsolve():
    a = mp.generate("convection 12 damping=50 rows=shuffled")
    b = a @ np.ones(a.shape[0])
    assert np.allclose(mp.spsolve(a, b, general=True), 1)
    assert np.allclose(mp.spsolve(a, b, general=True, method="ilu0"), 1)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fmt", ["csc", "csr", "coo", "dense"])
def test_spsolve_takes_a_matrix_for_what_it_is(dtype, fmt):
    rng = np.random.default_rng(5)
    a = random_values(rng, (20, 20), dtype) + 5 * np.eye(20, dtype=dtype)
    b = random_values(rng, 20, dtype)
    for a in (a, a + a.T, a + a.T.conj()):
        given = a if fmt == "dense" else sp.csc_matrix(a).asformat(fmt)
        assert error(a, mp.spsolve(given, b), b) <= 100 * np.finfo(dtype).eps
        assert error(a, mp.spsolve(given, b, method="ildlt"), b) <= 1e-5
    a[0, 1] += 1
    for options in ({"general": False}, {"method": "ldlt"}, {"hermitian": True}):
        with pytest.raises(mp.InputError, match="the matrix is not|a Hermitian matrix has"):
            mp.spsolve(a, b, **options)
    a[0, 0] = np.nan
    with pytest.raises(mp.InputError, match="(?i)nan|finite"):
        mp.spsolve(a, b)


def test_refused():
    a = np.array([[1.0, 2], [3, 4]])
    with pytest.raises(mp.InputError, match="not symmetric.*ldu: as it is"):
        mp.ldl(a)
    with pytest.raises(mp.ArgumentError, match="take gmres"):
        mp.ldu(a, krylov="cg")
    with pytest.raises(mp.ArgumentError, match="method ldlt is for matrices that are"):
        mp.ldu(a, method="ldlt")
    with pytest.raises(ValueError, match="neither lower nor hermitian"):
        mp.spsolve(a, [1.0, 2], general=True, lower=True)


def test_files(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 2\n2 1 3\n")
    a = mp.read(path)
    assert np.array_equal(a.toarray(), [[1, 2], [3, 0]])
    with pytest.raises(mp.InputError, match="not symmetric"):
        mp.read(path, symmetry_tolerance=1e-6)
