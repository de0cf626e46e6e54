# SPDX-License-Identifier: BSD-3-Clause
"""Bad input: each its own Python error with the reason, and the interpreter lives on."""

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp

GOOD = sp.csc_matrix([[4.0, 1, 0], [1, 0, 2], [0, 2, -3]])


@pytest.fixture(autouse=True)
def lives_on():
    yield
    assert np.allclose(GOOD @ mp.spsolve(GOOD, np.ones(3)), 1)


@pytest.mark.parametrize("matrix, kind, words", [
    (np.ones((2, 3)), ValueError, "2 x 3, not square"),
    (np.ones(3), ValueError, "1 dimensions"),
    (np.ones((2, 2, 2)), ValueError, "3 dimensions"),
    (sp.csc_matrix((3, 4)), ValueError, "3 x 4, not square"),
    (np.array([[1.0, 2], [3, 4]]), mp.InputError, "not symmetric.*lower=True"),
    (np.array([[1j, 2], [3j, 4]]), mp.InputError, "hermitian=True"),
    (np.array([[1.0, np.nan], [np.nan, 4]]), mp.InputError, "NaN"),
    (np.array([[np.inf, 0], [0, 4]]), mp.InputError, "infinite"),
    (np.eye(3, dtype=np.float16), TypeError, "float16"),
    (np.eye(3, dtype=np.longdouble), TypeError, "longdouble|float128"),
    (np.array([["a", "b"], ["b", "c"]]), TypeError, "dtype <U1"),
    (np.array([[None, 1], [1, None]], dtype=object), TypeError, "object"),
    ("hello", (TypeError, ValueError), "dimensions|dtype"),
    (None, (TypeError, ValueError), "dimensions|dtype"),
])  # fmt: skip
def test_bad_matrix(matrix, kind, words):
    for function in (mp.ldl, mp.ildl, mp.factorized):
        with pytest.raises(kind, match=words):
            function(matrix)


def test_bad_arrays_inside_a_sparse_matrix():
    a = GOOD.copy()
    a.indices = a.indices.copy()
    a.indices[0] = 7
    with pytest.raises(ValueError, match="outside 0 .. 2"):
        mp.ldl(a)
    a.indices[0] = -1
    with pytest.raises(ValueError, match="outside 0 .. 2"):
        mp.ldl(a)
    a = GOOD.copy()
    a.indptr = np.array([0, 6, 3, 7], np.int32)
    a.indices, a.data = np.zeros(7, np.int32), np.zeros(7)
    with pytest.raises(ValueError, match="decreases"):
        mp.ldl(a)
    a.indptr = np.array([0, 2, 4, 70], np.int32)
    with pytest.raises(ValueError, match="indptr"):
        mp.ldl(a)


def test_hermitian_diagonal():
    a = np.array([[1 + 1j, 2j], [-2j, 3]])
    with pytest.raises(mp.InputError, match="real diagonal"):
        mp.ldl(a, hermitian=True)


@pytest.mark.parametrize("b, kind, words", [
    (np.ones(4), ValueError, r"shape \(4,\)"),
    (np.ones((2, 3)), ValueError, r"shape \(2, 3\)"),
    (np.ones((3, 2, 1)), ValueError, "shape"),
    (1.0, ValueError, "shape"),
    (np.array([1, np.nan, 2]), mp.InputError, "not finite in row 2"),
    (np.array([1, np.inf, 2]), mp.InputError, "not finite"),
    (np.ones(3, np.float16), TypeError, "float16"),
    (np.array(["a", "b", "c"]), TypeError, "dtype"),
])  # fmt: skip
def test_bad_rhs(b, kind, words):
    factor = mp.ldl(GOOD)
    with pytest.raises(kind, match=words):
        factor.solve(b)
    with pytest.raises(kind, match=words):
        mp.spsolve(GOOD, b)
    assert np.allclose(GOOD @ factor.solve(np.ones(3)), 1)


@pytest.mark.parametrize("options, kind, words", [
    ({"pivot_treshold": 0.1}, TypeError, "'pivot_threshold'"),
    ({"nonsense": 1}, TypeError, "no option 'nonsense'"),
    ({"pivot_threshold": 2}, mp.ArgumentError, "pivot_threshold"),
    ({"ordering": "best"}, mp.ArgumentError, "amd"),
    ({"threads": -1}, mp.ArgumentError, "threads"),
    ({"threads": "many"}, mp.ArgumentError, "threads"),
    ({"singular": "perhaps"}, ValueError, "singular"),
    ({"device": "gpu"}, mp.ArgumentError, "cpu . cuda . auto"),
    ({"device": "cuda:x"}, mp.ArgumentError, "device_number"),
    ({"device": "cuda:1000"}, RuntimeError, "CUDA|device"),
    ({"memory_limit": 1}, MemoryError, "limit|memory|bytes"),
])  # fmt: skip
def test_bad_options(options, kind, words):
    with pytest.raises(kind, match=words):
        mp.ldl(GOOD, **options)


def test_exceptions_carry_what_the_library_said():
    with pytest.raises(ValueError) as caught:
        mp.ldl(np.array([[1.0, 2], [3, 4]]))
    assert isinstance(caught.value, mp.MetapackError)
    assert caught.value.status == "input" and caught.value.stage == "problem"
    for kind, builtin in ((mp.FileError, OSError), (mp.MemoryLimitError, MemoryError),
                          (mp.UnsupportedError, NotImplementedError),
                          (mp.SingularMatrixError, np.linalg.LinAlgError)):  # fmt: skip
        assert issubclass(kind, builtin) and issubclass(kind, mp.MetapackError)


# ---- singular ------------------------------------------------------------------------------------

SINGULAR = sp.csc_matrix([[1.0, 1, 0], [1, 1, 0], [0, 0, -2]])


def test_singular_factor():
    with pytest.warns(mp.ZeroPivotWarning, match="1 zero pivots of 3"):
        factor = mp.ldl(SINGULAR)
    assert factor.status == "singular" and factor.inertia == (1, 1, 1) and factor.rank == 2
    assert factor.slogdet == (0, -np.inf) and factor.logdet == -np.inf and not factor.certified
    x = factor.solve([2.0, 2, 4])  # consistent
    assert np.allclose(SINGULAR @ x, [2, 2, 4])
    with pytest.raises(mp.SingularMatrixError, match="inconsistent") as caught:
        factor.solve([2.0, 3, 4])
    assert caught.value.solution.shape == (3,)
    with pytest.raises(mp.SingularMatrixError, match="zero pivots"):
        mp.ldl(SINGULAR, singular="raise")
    mp.ldl(SINGULAR, singular="ignore")
    assert factor.refactor(GOOD_LIKE := SINGULAR + sp.diags([1.0, 0, 0])).status == "ok"
    assert np.allclose(GOOD_LIKE @ factor.solve(np.ones(3)), 1)
    with pytest.warns(mp.ZeroPivotWarning):
        factor.refactor(SINGULAR)


def test_singular_spsolve():
    with pytest.warns(mp.ZeroPivotWarning):
        x = mp.spsolve(SINGULAR, np.array([2.0, 2, 4]))
    assert np.allclose(SINGULAR @ x, [2, 2, 4])
    with pytest.raises(mp.SingularMatrixError):
        mp.spsolve(SINGULAR, np.array([2.0, 3, 4]))
    with pytest.warns(mp.ZeroPivotWarning), pytest.raises(mp.SingularMatrixError):
        mp.spsolve(sp.csc_matrix((2, 2)), np.ones(2), method="ldlt")


def test_warnings_point_at_the_caller():
    with pytest.warns(mp.ZeroPivotWarning) as caught:
        mp.ldl(SINGULAR)
        mp.ildl(SINGULAR, level=-1)
        mp.factorized(SINGULAR)
        mp.spsolve(SINGULAR, np.array([2.0, 2, 4]))
        mp.ldl(SINGULAR).refactor(SINGULAR)
    assert {w.filename for w in caught} == {__file__}


def test_inaccurate():
    a = sp.csc_matrix([[1e-30, 1.0], [1, 0]])
    with pytest.warns(mp.InaccurateWarning, match="backward error"):
        mp.ldl(GOOD).solve(np.array([1.0, 1e-3, 7]), accuracy=0.0, refine=0)
    assert np.allclose(a @ mp.ldl(a).solve([1.0, 1]), 1)


# ---- devices -------------------------------------------------------------------------------------


class OnDevice:
    """What Numba's arrays show."""

    shape, dtype, ndim = (3,), np.dtype(float), 1
    __cuda_array_interface__ = {"shape": (3,), "typestr": "<f8", "data": (64, False), "version": 3}


class Tensor:
    """What a tensor on a GPU shows."""

    def __dlpack__(self, stream=None):
        raise AssertionError("must not be asked")

    def __dlpack_device__(self):
        return (2, 0)


class SparseOnDevice:
    """What cupyx.scipy.sparse shows."""

    shape, dtype, format = (3, 3), np.dtype(float), "csc"
    data = indices = indptr = OnDevice()


def test_devices_are_refused():
    """Where the library takes host memory alone."""
    for b in (OnDevice(), Tensor()):
        for call in (lambda: mp.sqmr(GOOD, b), lambda: mp.ldl_batch(b),
                     lambda: mp.gmres(b, np.ones(3)), lambda: mp.sqmr(GOOD, np.ones(3), M=b)):  # fmt: skip
            with pytest.raises(TypeError, match="device.*host copy"):
                call()
    with pytest.raises(TypeError, match="device.*host copy"):
        mp.gmres(SparseOnDevice(), np.ones(3))


def test_no_device(monkeypatch):
    """An array on a device that METAPACK cannot reach."""
    monkeypatch.setenv("METAPACK_CUDA_MODULE", "/nowhere/module.so")
    factor = mp.ldl(GOOD)
    assert factor.engine.startswith("cpu-")
    for call in (lambda: factor.solve(OnDevice()), lambda: factor.refactor(SparseOnDevice()),
                 lambda: mp.ldl(SparseOnDevice()), lambda: mp.spsolve(GOOD, OnDevice()),
                 lambda: mp.ldl(GOOD, device="cuda"), lambda: mp.ildl(GOOD, device="cuda:0"),
                 lambda: mp.spsolve(GOOD, np.ones(3), device="cuda", method="ldlt")):  # fmt: skip
        with pytest.raises(mp.DeviceError, match="CUDA"):
            call()
    assert np.allclose(GOOD @ factor.solve(np.ones(3)), 1)
    assert mp.ldl(GOOD, device="auto").engine.startswith("cpu-")
    found = mp.devices()
    assert found == [] and "CUDA" in found.reason


# ---- files, copies -------------------------------------------------------------------------------


def test_files(tmp_path):
    with pytest.raises(OSError, match="no-such-file"):
        mp.read(tmp_path / "no-such-file.mtx")
    bad = tmp_path / "bad.mtx"
    bad.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n3 1 1.0\n")
    with pytest.raises(ValueError):
        mp.read(bad)
    bad.write_text("hello\n")
    with pytest.raises(mp.FormatError):
        mp.read(str(bad))
    with pytest.raises(ValueError):
        mp.generate("nothing of this kind")
    assert "nlpkkt" in mp.generators()


def test_neither_pickled_nor_copied():
    factor = mp.ildl(GOOD)
    for act in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be pickled"):
            act(factor)
        with pytest.raises(TypeError, match="cannot be pickled"):
            act(mp.ldl_batch(np.eye(2)[None]))


def test_environment_refused():
    """METAPACK_CPU that is no word is told, not passed over."""
    code = "import numpy, pymetapack\npymetapack.ldl(numpy.eye(2))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "METAPACK_CPU": "bogus"})  # fmt: skip
    assert done.returncode != 0
    assert "ArgumentError: METAPACK_CPU in the environment: expected generic" in done.stderr


def _broken():
    """SciPy matrices whose arrays do not fit, as attributes that were set by hand leave them."""
    n = 50
    S = sp.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1])

    def made(form, **arrays):
        A = S.asformat(form).copy()
        for name, change in arrays.items():
            setattr(A, name, change(getattr(A, name)))
        return A

    for form in ("csc", "csr"):
        yield "indptr", made(form, indptr=lambda x: x[:-1])
        yield "indptr", made(form, indptr=lambda x: x[:7].copy())
        yield "indptr", made(form, indptr=lambda x: np.r_[x[:-1], 2**28, x[-1]])
        yield "begins", made(form, indptr=lambda x: np.r_[1, x[1:]].astype(x.dtype))
        yield "decreases", made(form, indptr=lambda x: np.r_[x[:9], 0, x[10:]].astype(x.dtype))
        yield "decreases", made(form, indptr=lambda x: np.r_[x[:9], -5, x[10:]].astype(x.dtype))
        yield "ends at", made(form, indptr=lambda x: np.r_[x[:-1], x[-1] + 1].astype(x.dtype))
        yield "ends at", made(form, data=lambda x: x[:-1])
        yield "ends at", made(form, indices=lambda x: x[:-1])
        yield "indices", made(form, indices=lambda x: np.r_[x[:-1], n].astype(x.dtype))
        yield "indices", made(form, indices=lambda x: np.r_[-1, x[1:]].astype(x.dtype))
        yield "indices", made(form, indices=lambda x: x.astype(np.int64) + 2**32)
        yield "dtype", made(form, indices=lambda x: x.astype(float))
        yield "dtype", made(form, indptr=lambda x: x.astype(float))
        yield "dimensions", made(form, indices=lambda x: x.reshape(2, -1))
        yield "indptr", made(form, _shape=lambda x: (3_000_000, 3_000_000))
    yield "rows", made("coo", row=lambda x: x[:-1])
    yield "values", made("coo", data=lambda x: x[:-1])
    yield "row", made("coo", row=lambda x: x + 1)
    yield "col", made("coo", col=lambda x: x - 1)
    yield "indptr", made("bsr", indptr=lambda x: x[:-1])
    yield "indices", made("bsr", indices=lambda x: x + 60)
    yield "offsets", made("dia", offsets=lambda x: x[:-1])
    yield "row 1", made("lil", data=lambda x: np.array([x[0], [], *x[2:]], dtype=object))


@pytest.mark.parametrize("entry", ["ldl", "ildl", "ldu", "spsolve", "general", "refactor", "gmres",
                                   "sqmr", "preconditioner", "isai"])  # fmt: skip
def test_arrays_that_do_not_fit(entry):
    n = 50
    good = sp.diags([np.ones(n - 1), -2 * np.ones(n), np.ones(n - 1)], [-1, 0, 1], format="csc")
    b = np.ones(n)
    F = mp.ldl(good)
    call = {
        "ldl": mp.ldl,
        "ildl": mp.ildl,
        "ldu": mp.ldu,
        "spsolve": lambda A: mp.spsolve(A, np.ones(A.shape[0])),
        "general": lambda A: mp.spsolve(A, np.ones(A.shape[0]), general=True),
        "refactor": F.refactor,
        "gmres": lambda A: mp.gmres(A, np.ones(A.shape[0])),
        "sqmr": lambda A: mp.sqmr(A, np.ones(A.shape[0])),
        "preconditioner": lambda A: mp.gmres(good, b, M=A),
        "isai": lambda A: mp.isai(A, "general"),
    }[entry]
    for words, A in _broken():
        if A.shape[0] != n and entry in ("refactor", "preconditioner"):
            words = "shape|x 3000000"
        with pytest.raises((ValueError, TypeError, mp.PatternError), match=words):
            call(A)
    assert np.allclose(good @ F.solve(b), b)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e300])
def test_ignored_triangle(bad):
    """Work arrays as LAPACK leaves them: what is in the other triangle is not looked at."""
    rng = np.random.default_rng(0)
    n = 8
    A = rng.standard_normal((n, n))
    A = A + A.T
    b = A @ np.ones(n)
    G = A.copy()
    G[np.triu_indices(n, 1)] = bad
    other = G.copy()
    other[np.triu_indices(n, 1)] = 5
    calls = [
        lambda: mp.ldl(G, lower=True).solve(b),
        lambda: mp.ldl(sp.csc_matrix(G), lower=True).solve(b),
        lambda: mp.ldl(sp.csr_matrix(G), lower=True).solve(b),
        lambda: mp.ldl(sp.csc_matrix(other), lower=True).refactor(sp.csc_matrix(G)).solve(b),
        lambda: mp.ldl(G.T.copy(), lower=False).solve(b),
        lambda: mp.ildl(G, lower=True).solve(b),
        lambda: mp.spsolve(G, b, lower=True),
        lambda: mp.sqmr(G, b, lower=True, rtol=1e-12)[0],
        lambda: mp.ldl_dense(G, lower=True).solve(b),
        lambda: mp.ldl_batch(G[None], lower=True).solve(b[None])[0],
    ]
    for call in calls:
        assert np.allclose(call(), 1, rtol=1e-6)
    H = sp.csc_matrix(other)
    H.data[0] = np.nan  # in the triangle that counts
    with pytest.raises(mp.InputError, match="row 0, column 0"):
        mp.ldl(H, lower=True)
