# SPDX-License-Identifier: BSD-3-Clause
"""Matrices that are not symmetric: lu, ldu, spsolve(general=True), files and generators."""

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


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fmt", ["csc", "csr", "dense"])
def test_direct(dtype, fmt):
    rng = np.random.default_rng(3)
    a, _, b = system(rng, 60, dtype)
    f = mp.lu(a.toarray() if fmt == "dense" else a.asformat(fmt))
    bound = 100 * np.finfo(dtype).eps
    for trans, op in (("N", a), ("T", a.T), ("H", a.conj().T)):
        for rhs in (b, np.stack([b, 2 * b, b[::-1]], axis=1)):
            assert error(op, f.solve(rhs, trans=trans), rhs) <= bound
            assert error(op, f.solve(rhs, trans=trans, refine=0), rhs) <= 100 * bound
    assert f.stats()["solve"]["krylov"]["iterations"] == 0
    assert f.method == "ldlt" and f.status == "ok" and "not symmetric" in repr(f)
    sign, log = np.linalg.slogdet(a.toarray().astype(complex))
    tolerance = 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-10
    assert abs(f.slogdet.sign - sign) <= tolerance and abs(f.logdet - log) <= 10 * tolerance
    m = f.aslinearoperator()
    for op, inverse in ((a, m), (a.T, m.T), (a.conj().T, m.H)):
        assert error(op, inverse @ b, b) <= bound
    assert error(2 * a.T, f.refactor(2 * a).solve(b, trans="T"), b) <= bound


def test_direct_refuses():
    a = mp.generate("convection 8")
    f = mp.lu(a)
    with pytest.raises(ValueError, match="trans must be"):
        f.solve(np.ones(64), trans="X")
    with pytest.raises(mp.UnsupportedError, match="entries of the inverse"):
        f.inverse_diagonal()
    with pytest.raises(mp.UnsupportedError, match="bases of a kernel"):
        f.null_space()
    with pytest.raises(mp.UnsupportedError, match="as a whole"):
        f.solve_part("L", np.ones(64))
    with pytest.raises(mp.UnsupportedError, match="precision = single"):
        mp.lu(a, precision="single")
    b = np.ones(64)
    with pytest.raises(NotImplementedError, match="transpose"):
        mp.ldu(a).solve(b, trans="T")


def test_direct_singular():
    a = np.array([[1.0, 2, 3], [4, 5, 6], [5, 7, 9]])
    with pytest.warns(mp.ZeroPivotWarning):
        f = mp.lu(a)
    assert f.status == "singular" and f.rank == 2 and f.slogdet == (0, -np.inf)
    x = f.solve(a @ [1.0, 2, 3])
    assert np.allclose(a @ x, a @ [1.0, 2, 3])
    with pytest.raises(mp.SingularMatrixError):
        f.solve([1.0, 0, 0])
    with pytest.raises(mp.SingularMatrixError):
        f.solve([1.0, 0, 0], trans="T")


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
    assert error(a, mp.spsolve(a, b, method="ldlt"), b) <= 100 * np.finfo(dtype).eps
    for options in ({"general": False}, {"hermitian": True}):
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
    with pytest.raises(ValueError, match="neither lower nor hermitian"):
        mp.spsolve(a, [1.0, 2], general=True, lower=True)


def test_files(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n1 2 2\n2 1 3\n")
    a = mp.read(path)
    assert np.array_equal(a.toarray(), [[1, 2], [3, 0]])
    with pytest.raises(mp.InputError, match="not symmetric"):
        mp.read(path, symmetry_tolerance=1e-6)
