# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's functions with METAPACK behind them: the forms of their results, what goes on to SciPy, and
that all is as it was afterwards."""

import sys
import threading
import types
import warnings

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse as sp
import scipy.sparse.linalg as spla
from scipy.sparse.linalg import splu  # a module of the user's that has it by name
from support import DTYPES, symmetric

import pymetapack
from pymetapack import SymmetricLU, _scipy, use_in_scipy

OWN = {name: getattr(spla, name) for name in ("spsolve", "splu", "factorized", "eigsh")}


@pytest.fixture(autouse=True)
def as_it_was():
    yield
    assert all(getattr(spla, name) is own for name, own in OWN.items()) and splu is OWN["splu"]


@pytest.fixture
def rng():
    return np.random.default_rng(47)


@pytest.fixture
def matrix(rng):
    return sp.csc_matrix(symmetric(rng, 20, np.float64) + 4 * np.eye(20))


def dense(x):
    return x.toarray() if sp.issparse(x) else np.asarray(x)


SIDES = {
    "vector": lambda r: r.random(20), "column": lambda r: r.random((20, 1)), "columns": lambda r: r.random((20, 3)),
    "sparse column": lambda r: sp.csc_matrix(r.random((20, 1))), "sparse": lambda r: sp.csr_matrix(r.random((20, 3))),
    "complex": lambda r: r.random(20) * 1j, "integers": lambda r: np.arange(20), "list": lambda r: [1.0] * 20,
    "single": lambda r: r.random(20).astype(np.float32),
}  # fmt: skip


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("form", [sp.csc_matrix, sp.csr_matrix])
def test_spsolve_has_the_form_of_scipys(rng, dtype, form, side):
    hermitian = np.dtype(dtype).kind == "c"
    A = form(symmetric(rng, 20, dtype, hermitian) + 5 * np.eye(20, dtype=dtype))
    b = SIDES[side](rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sp.SparseEfficiencyWarning)
        want = spla.spsolve(A, b)
        with use_in_scipy():
            got = spla.spsolve(A, b)
    assert type(got) is type(want) and got.shape == want.shape and got.dtype == want.dtype
    assert np.allclose(
        dense(got), dense(want), atol=1e-4 if dtype in (np.float32, np.complex64) else 1e-12
    )


@pytest.mark.parametrize("everywhere", [False, True])
def test_options_that_are_none(everywhere):
    """A mistake is told, rather than SciPy used for all."""
    own = spla.splu
    with pytest.raises(TypeError, match="'ordering'"):
        use_in_scipy(everywhere=everywhere, orderin="metis")
    with pytest.raises(TypeError, match="no option 'hermitian'"):
        use_in_scipy(everywhere=everywhere, hermitian=True)
    with pytest.raises(pymetapack.ArgumentError, match="bogus"):
        use_in_scipy(everywhere=everywhere, ordering="bogus")
    assert spla.splu is own


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.dia_matrix, sp.lil_matrix])
def test_spsolve_takes_other_formats_as_columns(matrix, form):
    b = sp.csc_matrix(np.eye(20, 2))
    with use_in_scipy():
        got = spla.spsolve(form(matrix), b)
    assert got.format == "csc" and np.allclose((matrix @ got - b).toarray(), 0)


@pytest.mark.parametrize("hermitian", [False, True])
def test_splu(rng, hermitian):
    a = symmetric(rng, 20, np.complex128, hermitian) + 5 * np.eye(20)
    b = rng.random((20, 2)) + 1j * rng.random((20, 2))
    with use_in_scipy():
        lu = splu(sp.csc_matrix(a))
        solve = spla.factorized(sp.csc_matrix(a))
    assert isinstance(lu, SymmetricLU) and lu.shape == (20, 20) and lu.nnz > 20
    assert np.allclose(solve(b[:, 0]), np.linalg.solve(a, b[:, 0]))
    for trans, op in (("N", a), ("T", a.T), ("H", a.conj().T)):
        assert np.allclose(op @ lu.solve(b, trans), b)
    Pr = sp.csc_matrix((np.ones(20), (lu.perm_r, np.arange(20))))
    Pc = sp.csc_matrix((np.ones(20), (np.arange(20), lu.perm_c)))
    assert np.allclose((Pr.T @ (lu.L @ lu.U) @ Pc.T).toarray(), a)  # SuperLU's
    with pytest.raises(ValueError, match="trans"):
        lu.solve(b, "X")


def test_what_goes_on_to_scipy(rng, matrix):
    general = sp.csc_matrix(np.triu(matrix.toarray()))
    ones = sp.csc_matrix(np.ones((3, 3)))
    with use_in_scipy():
        assert not isinstance(splu(general), SymmetricLU)
        assert np.allclose(general @ spla.spsolve(general, np.ones(20)), 1)
        with pytest.raises(RuntimeError, match="singular"):
            splu(ones)
        with pytest.warns(spla.MatrixRankWarning, match="singular"):
            assert np.isnan(spla.spsolve(ones, np.arange(3.0))).all()
        with pytest.warns(pymetapack.ZeroPivotWarning):
            assert np.isclose(spla.spsolve(ones, np.ones(3)).sum(), 1)
        with pytest.raises(ValueError):
            spla.spsolve(matrix, np.ones(3))


def test_eigsh(matrix):
    """By SciPy's own eigsh, whose splu it is."""
    arpack = sys.modules["scipy.sparse.linalg._eigen.arpack.arpack"]
    twice = 2 * sp.identity(20, format="csc")
    want = np.sort(spla.eigsh(matrix, 4, sigma=0.5)[0])
    with use_in_scipy(ordering="amd"):
        assert isinstance(arpack.splu(matrix), SymmetricLU)
        assert np.allclose(np.sort(spla.eigsh(matrix, 4, sigma=0.5)[0]), want)
        assert np.allclose(2 * np.sort(spla.eigsh(matrix, 4, twice, sigma=0.25)[0]), want)
    assert arpack.splu is OWN["splu"]


def test_trust_constr(monkeypatch):
    """Its projections factorize the augmented system by splu."""

    def minimum():
        return scipy.optimize.minimize(
            lambda x: (x[0] - 1) ** 2 + (x[1] - 2.5) ** 2, [2.0, 0], method="trust-constr",
            jac=lambda x: np.array([2 * (x[0] - 1), 2 * (x[1] - 2.5)]), hess=lambda x: 2 * np.eye(2),
            constraints=scipy.optimize.LinearConstraint(sp.csr_matrix([[1.0, -2], [1, 1]]), [-2, -np.inf], [np.inf, 3]),
            options={"sparse_jacobian": True, "factorization_method": "AugmentedSystem"})  # fmt: skip

    made = []
    monkeypatch.setattr(
        _scipy.SymmetricLU, "solve", lambda lu, *a: made.append(lu) or lu._solve(a[0])
    )
    want = minimum()
    with use_in_scipy():
        got = minimum()
    assert made
    assert got.status == want.status and np.allclose(got.x, want.x, atol=1e-5)


def test_nested_exceptions_and_threads(matrix):
    kinds = {}

    def kind(name):
        kinds[name] = type(spla.splu(matrix))

    def in_a_thread(name, target=kind):
        thread = threading.Thread(target=target, args=(name,))
        thread.start()
        thread.join()

    with pytest.raises(KeyError):
        with use_in_scipy():
            with use_in_scipy(threads=1):
                assert splu(matrix).factor._options.given["threads"] == 1
            kind("after the inner one")
            assert "threads" not in splu(matrix).factor._options.given
            in_a_thread("another thread")
            raise KeyError
    kind("after")
    outer = use_in_scipy(everywhere=True)
    in_a_thread("everywhere")
    with use_in_scipy(everywhere=True, threads=1) as inner:
        outer.undo()  # in any order
        outer.undo()
        in_a_thread("the other one everywhere")
        assert inner
    kind("at the end")
    ours, theirs = SymmetricLU, type(OWN["splu"](matrix))
    assert kinds == {"after the inner one": ours, "another thread": theirs, "after": theirs, "everywhere": ours,
                     "the other one everywhere": ours, "at the end": theirs}  # fmt: skip


def test_many_threads_at_once(matrix):
    wrong = []

    def work():
        for _ in range(30):
            with use_in_scipy():
                if not isinstance(spla.splu(matrix), SymmetricLU):
                    wrong.append("within")
            if isinstance(spla.splu(matrix), SymmetricLU):
                wrong.append("after")

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_function_kept_from_within(matrix):
    """It is SciPy's again when the use has ended."""
    with use_in_scipy():
        kept = spla.splu
    assert not isinstance(kept(matrix), SymmetricLU)


def test_a_second_name_beside_the_first():
    """As modules do that choose a solver when they are loaded: ``sp_solve = spsolve``."""
    module = types.ModuleType("second_name")
    module.spsolve = module.sp_solve = spla.spsolve
    module.other = spla.lsqr
    sys.modules["second_name"] = module
    try:
        with use_in_scipy():
            assert module.sp_solve is module.spsolve is not OWN["spsolve"]
            assert module.other is spla.lsqr
        assert module.sp_solve is module.spsolve is OWN["spsolve"]
    finally:
        del sys.modules["second_name"]
