# SPDX-License-Identifier: BSD-3-Clause
"""The factor object: solve in all forms, refactor, properties, operators."""

import ctypes
import gc
import sys
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigsh, minres

import pymetapack
from support import DTYPES, check_inertia, check_solution, kkt, random_values, symmetric


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def regular(rng, n=25, dtype=np.float64, hermitian=False):
    a = symmetric(rng, n, dtype, hermitian, 0.4)
    return a + np.diag(rng.choice([-8.0, 8.0], n)).astype(dtype)


# ---- right-hand sides ----------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_shapes_and_orders(rng, dtype):
    a = regular(rng, dtype=dtype)
    factor = pymetapack.ldl(a)
    n = len(a)
    wide = random_values(rng, (n, 6), dtype)
    forms = [
        wide[:, 0].copy(),
        wide[:, :1],
        np.ascontiguousarray(wide),
        np.asfortranarray(wide),
        wide[:, ::2],
        wide[:, ::-1],
        np.asfortranarray(wide)[:, 1:4],
        wide[::1, 0],
    ]
    for b in forms:
        kept = b.copy()
        x = factor.solve(b)
        assert x.shape == b.shape and x.dtype == dtype and isinstance(x, np.ndarray)
        assert np.array_equal(b, kept)
        check_solution(a, x, b)
        read_only = b.copy()
        read_only.flags.writeable = False
        assert np.array_equal(factor.solve(read_only), factor.solve(b.copy()))
    assert factor.solve(np.empty((n, 0), dtype)).shape == (n, 0)
    assert np.array_equal(factor(forms[0]), factor.solve(forms[0]))
    assert factor.solve(list(range(n))).dtype == dtype


def test_columns_are_solved_as_one_by_one(rng):
    a = regular(rng, 40)
    factor = pymetapack.ldl(a, refine=0)
    b = rng.standard_normal((40, 11))
    for j, x in enumerate(factor.solve(b).T):
        assert np.allclose(x, factor.solve(b[:, j]), rtol=1e-13, atol=1e-13)


def test_out(rng):
    a = regular(rng)
    n = len(a)
    factor = pymetapack.ldl(a)
    b = rng.standard_normal((n, 3))
    want = factor.solve(b)
    for out in (np.empty((n, 3)), np.empty((n, 3), order="F"), np.empty((2 * n, 6))[::2, ::2]):
        assert factor.solve(b, out=out) is out
        assert np.array_equal(out, want)
    for order in "CF":
        own = np.asarray(b, order=order).copy(order=order)
        assert factor.solve(own, out=own) is own
        assert np.array_equal(own, want)
    vector = b[:, 0].copy()
    assert np.array_equal(factor.solve(vector, out=vector), factor.solve(b[:, 0]))
    store = np.empty(n + 1)  # out overlaps b by all but one entry
    store[:n] = b[:, 0]
    assert np.array_equal(factor.solve(store[:n], out=store[1:]), factor.solve(b[:, 0]))
    for bad in (np.empty((n, 2)), np.empty((n, 3), np.float32)):
        with pytest.raises(ValueError, match="out is"):
            factor.solve(b, out=bad)
    with pytest.raises(TypeError, match="out must be"):
        factor.solve(b, out=[0.0] * n)
    frozen = np.empty((n, 3))
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        factor.solve(b, out=frozen)


def test_complex_rhs_of_real_matrix(rng):
    a = regular(rng)
    factor = pymetapack.ldl(a)
    for shape in ((25,), (25, 2)):
        b = random_values(rng, shape, np.complex128)
        x = factor.solve(b)
        assert x.dtype == np.complex128
        assert np.allclose(a @ x, b)
        assert np.allclose(pymetapack.spsolve(a, b), x)
        out = np.empty(shape, np.complex128)
        assert factor.solve(b, out=out) is out and np.array_equal(out, x)
    assert pymetapack.spsolve(a.astype(np.float32), b.astype(np.complex64)).dtype == np.complex64
    assert pymetapack.spsolve(a.astype(np.float32), b).dtype == np.complex128


def test_types_meet(rng):
    a = np.rint(10 * regular(rng)).astype(int)
    b = np.arange(25)
    x = pymetapack.spsolve(sp.csr_matrix(a), b)
    assert x.dtype == np.float64 and np.allclose(a @ x, b)
    single = a.astype(np.float32)
    assert pymetapack.spsolve(single, b.astype(np.float32)).dtype == np.float32
    assert pymetapack.spsolve(single, b.astype(np.float64)).dtype == np.float64
    assert pymetapack.spsolve(a.astype(np.complex64), b.astype(np.float64)).dtype == np.complex128
    swapped = sp.csc_matrix(a.astype(float))
    swapped.data = swapped.data.astype(">f8")
    assert np.allclose(pymetapack.spsolve(swapped, b), x)
    assert np.allclose(pymetapack.spsolve(a, sp.csc_matrix(b[:, None]))[:, 0], x)


class Pack:
    """A tensor that offers DLPack alone."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, *args, **kwargs):
        return self._array.__dlpack__(*args, **kwargs)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_dlpack_of_the_host(rng):
    a = regular(rng)
    b = rng.standard_normal(25)
    assert np.array_equal(pymetapack.ldl(a).solve(Pack(b)), pymetapack.ldl(a).solve(b))
    assert np.array_equal(pymetapack.spsolve(Pack(a), Pack(b)), pymetapack.spsolve(a, b))


def test_refine(rng):
    a = kkt(rng, 60, 30)
    a[:60, :60] *= 1e6
    b = a @ np.ones(90)
    factor = pymetapack.ldl(a, pivot_threshold=1e-8)
    factor.solve(b, refine=0)
    assert factor.stats()["solve"]["iterations"] == 0
    x = factor.solve(b, condition=True)
    info = factor.stats()["solve"]
    assert info["componentwise"] <= 1e-14 and info["condition"] > 1
    check_solution(a, x, b)


def checked(factor):
    """Was the error of the last solve computed?"""
    return bool(np.isfinite(factor.stats()["solve"]["componentwise"]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_refine_0_computes_no_residual(rng, dtype):
    a = regular(rng, 30, dtype)
    b = random_values(rng, (30, 3), dtype)
    factor = pymetapack.ldl(a)
    want = factor.solve(b)
    assert checked(factor)
    x = factor.solve(b, refine=0)
    assert not checked(factor) and factor.stats()["solve"]["iterations"] == 0
    assert np.allclose(x, want, rtol=1e-2 if np.finfo(dtype).bits == 32 else 1e-8)
    assert np.array_equal(x, factor.aspreconditioner().matmat(b))
    assert np.array_equal(x, pymetapack.ldl(a, refine=0).solve(b))
    own = b.copy(order="F")
    assert np.array_equal(factor.solve(own, out=own, refine=0), x)
    for asked in ({"accuracy": 1e-3}, {"condition": True}, {"krylov": "sqmr"}, {"threads": 1}):
        factor.solve(b, refine=0, **asked)
        assert checked(factor)


def test_refine_0_is_no_way_round_a_verdict(rng):
    singular = pymetapack.ldl(np.array([[1.0, 1], [1, 1]]), singular="ignore")
    with pytest.raises(pymetapack.SingularMatrixError):
        singular.solve([1.0, 0.0], refine=0)
    factor = pymetapack.ldl(np.diag([2.0, -3]))
    with pytest.raises(pymetapack.InputError, match="not finite in row 2"):
        factor.solve([1.0, np.nan], refine=0)
    with pytest.raises(pymetapack.NumericError, match="overflows"):
        pymetapack.ldl(np.diag([1e-200, 1])).solve([1e200, 1], refine=0)


# ---- its end -------------------------------------------------------------------------------------


def test_a_block_ends_it(rng):
    a = regular(rng, 200)
    with pymetapack.ldl(a) as factor:
        operators = factor.aslinearoperator(), factor.aspreconditioner()
        check_solution(a, factor.solve(np.ones(200)), np.ones(200))
        assert factor.stats()["memory"]["now_bytes"] > 0
    assert "closed" in repr(factor) and factor.shape == (200, 200)
    b = np.ones(200)
    for use in (
        lambda: factor.solve(b),
        lambda: factor.solve(b, refine=0),
        lambda: factor.refactor(a),
        lambda: factor.inertia,
        lambda: factor.perm,
        lambda: factor.D,
        lambda: factor.stats(),
        lambda: factor.__enter__(),
        lambda: operators[0].matvec(b),
        lambda: operators[1].matvec(b),
        lambda: pymetapack.sqmr(a, b, M=factor),
    ):
        with pytest.raises(pymetapack.ArgumentError, match="was closed"):
            use()
    factor.close()  # nothing happens
    with pytest.raises(ZeroDivisionError):
        with pymetapack.ldl(a) as factor:
            1 / 0
    assert "closed" in repr(factor)


class MallInfo(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in (
        "arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
        "fordblks", "keepcost")]  # fmt: skip


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallinfo2"), reason="no mallinfo2")
def test_a_block_gives_the_memory_back(rng):
    """Though the names live on."""
    mallinfo2 = ctypes.CDLL(None).mallinfo2
    mallinfo2.restype = MallInfo
    a = sp.csc_matrix(regular(rng, 900))

    def growth(factors):
        gc.collect()
        before = mallinfo2()
        factors += [pymetapack.ldl(a, threads=1) for _ in range(3)]
        for factor in factors:
            with factor:
                pass
        after = mallinfo2()
        return after.uordblks + after.hblkhd - before.uordblks - before.hblkhd

    kept = []
    growth(kept)
    each = pymetapack.ldl(a).analysis_info.factor_bytes
    assert each > 1_000_000
    del kept[:]
    assert growth(kept) < each / 10


# ---- refactor ------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("form", ["csc", "csr", "coo", "dense"])
def test_refactor(rng, dtype, hermitian, lower, form):
    a = regular(rng, 20, dtype, hermitian)
    shift = (np.diag(np.arange(1.0, 21)) * (np.diag(a) != 0)).astype(dtype)
    c = 3 * a + shift
    part = {None: lambda m: m, True: np.tril, False: np.triu}[lower]

    def give(m):
        return part(m) if form == "dense" else sp.coo_matrix(part(m)).asformat(form)

    factor = pymetapack.ldl(give(a), lower=lower, hermitian=hermitian)
    b = random_values(rng, 20, dtype)
    assert factor.refactor(give(c)) is factor
    check_solution(c, factor.solve(b), b)
    if form in ("csc", "csr"):
        factor.refactor(give(a).data)
        check_solution(a, factor.solve(b), b)
    else:
        with pytest.raises(TypeError, match="CSC or CSR"):
            factor.refactor(np.zeros(5, dtype))
    other = sp.csr_matrix(part(c)) if form != "csr" else sp.csc_matrix(part(c))
    check_solution(c, factor.refactor(other).solve(b), b)  # another format, the same pattern
    want = pymetapack.ldl(give(c), lower=lower, hermitian=hermitian).solve(b)
    assert np.array_equal(factor.solve(b), want)


def test_refactor_sums_duplicates(rng):
    indptr, indices = [0, 3, 6], [0, 1, 0, 0, 1, 0]
    values = np.array([1.0, 1, 2, 0.5, 5, 0.5])
    a = sp.csc_matrix((values, indices, indptr), shape=(2, 2))
    assert not a.has_canonical_format
    factor = pymetapack.ldl(a)
    b = np.array([1.0, 2])
    assert np.allclose(factor.solve(b), np.linalg.solve([[3, 1], [1, 5]], b))
    factor.refactor(2 * values)
    assert np.allclose(factor.solve(b), np.linalg.solve([[6, 2], [2, 10]], b))


def test_refactor_refuses_another_pattern(rng):
    a = sp.csc_matrix(regular(rng, 20))
    factor = pymetapack.ldl(a)
    b = rng.standard_normal(20)
    want = factor.solve(b)
    more = a.tolil()
    i, j = np.argwhere(a.toarray() == 0)[0]
    more[i, j] = more[j, i] = 1.0
    for other in (more.tocsc(), more.tocsr(), sp.identity(19)):
        with pytest.raises(pymetapack.PatternError):
            factor.refactor(other)
        assert np.array_equal(factor.solve(b), want)
    with pytest.raises(pymetapack.PatternError, match="3 values"):
        factor.refactor(np.ones(3))
    with pytest.raises(TypeError, match="complex128"):
        factor.refactor(a.astype(complex))
    crooked = a.copy()
    off = np.flatnonzero(crooked.indices != np.repeat(np.arange(20), np.diff(crooked.indptr)))[0]
    crooked.data[off] += 1
    for given in (crooked, crooked.data):
        with pytest.raises(pymetapack.InputError, match="not symmetric"):
            factor.refactor(given)
        assert np.array_equal(factor.solve(b), want)


def test_refactor_with_bad_values(rng):
    a = sp.csc_matrix(regular(rng, 20))
    factor = pymetapack.ldl(a)
    want = factor.solve(np.ones(20))
    bad = a.copy()
    bad.data[:] = np.nan
    with pytest.raises(pymetapack.InputError, match="NaN|finite"):
        factor.refactor(bad)
    assert factor.status == "ok"
    assert np.array_equal(factor.solve(np.ones(20)), want)


def test_the_users_arrays_are_his(rng):
    """What happens to the matrix after ldl changes neither the factor nor what refactor accepts."""
    a = sp.csc_matrix(regular(rng, 20))
    kept = a.copy()
    factor = pymetapack.ldl(a)
    b = rng.standard_normal(20)
    want = factor.solve(b)
    a.data[:] = 0
    a.indices[:] = 0
    assert np.array_equal(factor.solve(b), want)
    assert np.array_equal(factor.refactor(kept).solve(b), want)
    assert np.array_equal(factor.refactor(kept.data).solve(b), want)


# ---- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_parts(rng, dtype, hermitian):
    a = regular(rng, 30, dtype, hermitian)
    factor = pymetapack.ldl(a, hermitian=hermitian)
    n = len(a)
    assert sorted(factor.perm) == list(range(n)) and factor.perm.dtype == np.int32
    assert (factor.scale > 0).all()
    d = factor.D.toarray()
    assert d.dtype == dtype and np.array_equal(d, d.conj().T if hermitian else d.T)
    assert np.array_equal(d, np.triu(np.tril(d, 1), -1))
    if np.dtype(dtype).kind != "c" or hermitian:
        values = np.linalg.eigvalsh(d)
        assert factor.inertia == ((values > 0).sum(), (values < 0).sum(), 0)
        assert factor.nneg == (values < 0).sum()
    # det A = det D / det S^2
    sign, log = np.linalg.slogdet(d.astype(np.complex128))
    assert np.isclose(log - 2 * np.log(factor.scale).sum(), factor.logdet, rtol=1e-4)
    assert np.isclose(sign, factor.slogdet.sign, rtol=1e-4)
    want = np.linalg.slogdet(a)
    assert np.isclose(want[0], factor.slogdet.sign, rtol=1e-3)
    assert np.isclose(want[1], factor.logdet, rtol=1e-3)
    assert factor.rank == n and factor.nnz >= n
    assert factor.hermitian == (hermitian and np.dtype(dtype).kind == "c")
    assert f"{n} x {n}" in repr(factor) and "ok" in repr(factor)


def test_stats(rng):
    factor = pymetapack.ldl(regular(rng, 30), ordering="amd")
    factor.solve(np.ones(30))
    stats = factor.stats()
    assert stats["analysis"]["ordering"] == "amd"
    assert stats["factor"]["inertia"]["positive"] == factor.inertia.positive
    assert stats["solve"]["normwise"] < 1e-14
    assert stats["memory"]["peak_bytes"] >= stats["memory"]["now_bytes"] > 0
    assert "block" not in stats and stats["method"] == "ldlt"
    stats = pymetapack.ildl(regular(rng, 30)).stats()
    assert stats["block"]["block_rows"] >= 1 and stats["method"] == "ildlt"


def test_options_are_described():
    """The docstring has the library's sentence, values and default of each option."""
    described = pymetapack.options.__doc__
    for key in pymetapack.options():
        assert key.startswith("given_") or f"\n{key} : " in described
    assert "\npivot_threshold : 0 ... 0.5; default 0.01\n    Accept a pivot " in described
    assert "\nfactor_type : ldlt | llt | ldu; default ldlt\n" in described
    assert "norm of their column. The 2-norm" in described


def test_options(rng):
    a = regular(rng, 30)
    assert "pivot_threshold" in pymetapack.options()
    for options in (
        {"ordering": "metis"},
        {"ordering": "natural", "scaling": False},
        {"matching": True},
        {"pivot_threshold": 0.5, "threads": np.int64(1)},
        {"given_perm": np.arange(30)[::-1]},
        {"method": "ldlt", "device": "cpu"},
    ):
        factor = pymetapack.ldl(a, **options)
        check_solution(a, factor.solve(np.ones(30)), np.ones(30))
    perm = pymetapack.ldl(a, given_perm=np.arange(30), scaling=False, matching=False).perm
    assert sorted(perm) == list(range(30))
    for bad in (np.arange(29), np.zeros(30, int)):
        with pytest.raises(ValueError):
            pymetapack.ldl(a, given_perm=bad)
    with pytest.raises(TypeError):
        pymetapack.ldl(a, given_perm=np.arange(30.0))


def test_given_blocks_and_pivots(rng):
    a = regular(rng, 30)
    own = {"method": "ildlt", "given_perm": np.arange(30)[::-1], "given_pivots": np.arange(0, 31, 2)}
    factor = pymetapack.ldl(a, given_blocks=[0, 4, 14, 30], pivoting="static", **own)
    assert factor.stats()["block"]["block_rows"] == 3
    check_solution(a, factor.solve(np.ones(30)), np.ones(30))
    for bad in ([], [1, 30], [0, 29], [0, 20, 10, 30], [0, 3, 30]):
        with pytest.raises(ValueError):
            pymetapack.ldl(a, given_blocks=bad, **own)
    with pytest.raises(TypeError):
        pymetapack.ldl(a, given_blocks=[0.0, 30.0], **own)


@pytest.mark.parametrize("method", ["ildlt", "jacobi", "ilu0", "none", "diagonal", "block_jacobi", "ssor"])
def test_incomplete(method):
    k = pymetapack.generate("helmholtz 2d 20 0.3")
    b = np.ones(k.shape[0])
    factor = pymetapack.ildl(k, method=method)
    assert factor.method == method
    x = factor.solve(b, tolerance=1e-9, max_iterations=4000)
    assert np.linalg.norm(k @ x - b) <= 1e-8 * np.linalg.norm(b)
    y, info = pymetapack.sqmr(k, b, M=factor, rtol=1e-9, maxiter=4000)
    assert info == 0 and np.linalg.norm(k @ y - b) <= 1e-8 * np.linalg.norm(b)
    if method == "ildlt":  # another matrix of the pattern
        x = factor.refactor(2 * k).solve(b, tolerance=1e-9)
        assert np.linalg.norm(2 * k @ x - b) <= 1e-8 * np.linalg.norm(b)


def test_what_incomplete_factors_have():
    k = pymetapack.generate("nlpkkt 3")
    factor = pymetapack.ildl(k, level=-1, drop_tolerance=0, fill_factor=0)
    check_inertia(k.toarray(), factor.inertia)
    assert factor.scale.shape == (k.shape[0],)
    for ask in (lambda: factor.D, lambda: factor.perm, lambda: factor.logdet):
        with pytest.raises(pymetapack.UnsupportedError, match="blocks"):
            ask()


def test_incomplete_says_when_it_fails():
    k = pymetapack.generate("helmholtz 2d 20 0.3")
    b = np.ones(k.shape[0])
    with pytest.warns(pymetapack.NotConvergedWarning):
        pymetapack.ildl(k).solve(b, tolerance=1e-12, max_iterations=1)
    with pytest.warns(pymetapack.NotConvergedWarning):
        pymetapack.spsolve(k, b, method="ildlt", max_iterations=1)


def test_spsolve_without_the_direct_solver():
    k = pymetapack.generate("helmholtz 2d 20 0.3")
    b = np.ones(k.shape[0])
    x = pymetapack.spsolve(k, b, direct=False, tolerance=1e-8)
    assert np.linalg.norm(k @ x - b) <= 1e-8 * np.linalg.norm(b)


# ---- operators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hermitian", [False, True])
def test_operators(rng, dtype, hermitian):
    a = regular(rng, 20, dtype, hermitian)
    tolerance = 1e-3 if np.finfo(dtype).bits == 32 else 1e-11
    factor = pymetapack.ldl(a, hermitian=hermitian)
    inverse = np.linalg.inv(a)
    for op in (factor.aslinearoperator(), factor.aspreconditioner()):
        assert isinstance(op, LinearOperator) and op.dtype == dtype and op.shape == a.shape
        every = np.eye(20, dtype=dtype)
        assert np.allclose(op.matmat(every), inverse, atol=tolerance)
        assert np.allclose(op.H.matmat(every), inverse.conj().T, atol=tolerance)
        assert np.allclose(op.T.matmat(every), inverse.T, atol=tolerance)
        assert np.allclose(op @ every[:, 0], inverse[:, 0], atol=tolerance)
        assert np.allclose(op.rmatvec(every[:, 0]), inverse.conj().T[:, 0], atol=tolerance)
    if np.dtype(dtype).kind != "c" or hermitian:
        definite = factor.aspreconditioner(abs=True).matmat(every)
        assert np.allclose(definite, definite.conj().T, atol=tolerance)
        assert (np.linalg.eigvalsh(definite) > 0).all()


def test_an_operator_checks_until_a_solve_was_right(rng):
    a = regular(rng, 60)
    b = rng.standard_normal(60)
    factor = pymetapack.ldl(a)
    op = factor.aslinearoperator()
    assert np.array_equal(op.matvec(np.zeros(60)), np.zeros(60)) and checked(factor)
    x = op.matvec(b)  # of nothing one learns nothing: this is the first
    assert checked(factor)
    assert np.array_equal(x, factor.solve(b))
    y = op.matvec(b)
    assert not checked(factor) and np.allclose(x, y, rtol=1e-9)
    assert np.array_equal(y, factor.solve(b, refine=0))
    both = op.matmat(np.stack([b, -b], axis=1))  # several go together, with sums of their own
    assert np.allclose(both[:, 0], op.matvec(b), rtol=1e-10)
    assert np.array_equal(both[:, 0], -both[:, 1])
    factor.refactor(2 * a)
    op.matvec(b)
    assert checked(factor)  # new values
    op.matvec(b)
    assert not checked(factor)
    always, never = factor.aslinearoperator("always"), factor.aslinearoperator(check="never")
    for _ in range(3):
        always.matvec(b)
        assert checked(factor)
    assert np.array_equal(never.matvec(b), op.matvec(b))
    with pytest.raises(ValueError, match="check must be one of first, always, never"):
        factor.aslinearoperator("once")


def test_an_operator_checks_what_cannot_be_trusted(rng):
    """Zero pivots, replaced ones, incomplete factors, and one that is right only when refined."""
    singular = pymetapack.ldl(np.array([[1.0, 1], [1, 1]]), singular="ignore")
    op = singular.aslinearoperator()
    for _ in range(3):
        assert np.isclose(op.matvec([2.0, 2.0]).sum(), 2)
    with pytest.raises(pymetapack.SingularMatrixError):
        op.matvec([1.0, 0.0])
    k = pymetapack.generate("helmholtz 2d 20 0.3")
    b = np.ones(k.shape[0])
    for factor in (pymetapack.ildl(k), pymetapack.ldl(k, static_shift=1e-6, pivot_threshold=0.5)):
        op = factor.aslinearoperator()
        for _ in range(3):
            assert np.linalg.norm(k @ op.matvec(b) - b) <= 1e-9 * np.linalg.norm(b)
    a = rng.standard_normal((60, 60))
    a += a.T
    a[:30, :30] *= 1e-9  # tiny pivots, taken without a threshold
    factor = pymetapack.ldl(a, pivot_threshold=1e-12, scaling=False, matching=False)
    op = factor.aslinearoperator()
    b = a @ np.ones(60)
    for _ in range(3):
        assert np.allclose(a @ op.matvec(b), b, rtol=1e-12, atol=1e-12)
        assert factor.stats()["solve"]["unrefined"] > 1e-8


def test_eigsh_by_shift_and_invert(rng):
    """SciPy's ARPACK finds interior eigenvalues through our operator."""
    k = sp.csc_matrix(symmetric(rng, 200, np.float64, density=0.2))
    values = np.linalg.eigvalsh(k.toarray())
    sigma = 0.3 * values[100] + 0.7 * values[101]
    factor = pymetapack.ldl(k - sigma * sp.identity(k.shape[0]))
    assert factor.nneg == (values < sigma).sum()  # Sylvester counts what lies below
    found = eigsh(k, 8, sigma=sigma, OPinv=factor.aslinearoperator(), return_eigenvectors=False)
    nearest = values[np.argsort(abs(values - sigma))[:8]]
    assert np.allclose(np.sort(found), np.sort(nearest), atol=1e-9)


def test_eigsh_of_a_hermitian_pencil(rng):
    a = regular(rng, 60, np.complex128, True)
    m = np.diag(rng.random(60) + 1).astype(complex)
    sigma = 0.5
    factor = pymetapack.ldl(a - sigma * m, hermitian=True)
    found = eigsh(a, 5, m, sigma=sigma, OPinv=factor.aslinearoperator(), return_eigenvectors=False)
    import scipy.linalg

    values = scipy.linalg.eigh(a, m, eigvals_only=True)
    nearest = values[np.argsort(abs(1 / (values - sigma)))[-5:]]
    assert np.allclose(np.sort(found), np.sort(nearest), atol=1e-8)


def test_scipys_minres_with_our_preconditioner(rng):
    a = kkt(rng, 60, 30)
    b = rng.standard_normal(90)
    x, info = minres(a, b, M=pymetapack.ldl(a).aspreconditioner(abs=True))
    assert info == 0 and np.linalg.norm(a @ x - b) <= 1e-4 * np.linalg.norm(b)


def test_lives_as_long_as_it_is_needed(rng):
    a = regular(rng)
    op = pymetapack.ldl(a).aslinearoperator()
    solve = pymetapack.factorized(a)
    gc.collect()
    assert np.allclose(a @ op.matvec(np.ones(25)), 1)
    assert np.allclose(a @ solve(np.ones(25)), 1)
    factor = pymetapack.ldl(a)
    gone = weakref.ref(factor)
    references = sys.getrefcount(a)
    del factor
    assert gone() is None  # no cycle keeps it
    assert sys.getrefcount(a) == references


def test_memory_is_given_back(rng):
    import resource

    a = sp.csc_matrix(regular(rng, 400))

    def some(count):
        for _ in range(count):
            factor = pymetapack.ldl(a)
            factor.refactor(a).solve(np.ones((400, 4)))
            pymetapack.spsolve(a, np.ones(400))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    first = some(20)
    assert some(150) - first < 20_000  # kB


def test_empty_and_one():
    factor = pymetapack.ldl(sp.csc_matrix((0, 0)))
    assert factor.inertia == (0, 0, 0) and factor.solve(np.empty(0)).shape == (0,)
    assert pymetapack.spsolve(sp.csc_matrix((0, 0)), np.empty((0, 2))).shape == (0, 2)
    assert factor.D.shape == (0, 0) and len(factor.perm) == 0
    factor = pymetapack.ldl([[-4.0]])
    assert factor.solve([2.0])[0] == -0.5 and factor.nneg == 1
    assert factor.slogdet == (-1, np.log(4.0))


def test_linear_operator_input_of_scipy_is_refused():
    with pytest.raises((TypeError, ValueError)):
        pymetapack.ldl(aslinearoperator(np.eye(3)))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_parts_sample(dtype):
    """W W^H A = 1 for W = S P^T L^-T D^-1/2; the parts in turn are the inverse."""
    rng = np.random.default_rng(3)
    n = 60
    B = sp.random(n, n, 0.05, random_state=4).toarray().astype(dtype)
    if np.dtype(dtype).kind == "c":
        B = B * np.exp(1j * rng.uniform(0, 6, (n, n)))
    A = (B @ B.conj().T + np.eye(n)).astype(dtype)
    F = pymetapack.ldl(sp.csc_matrix(A), hermitian=True)
    W = F.solve_part("LT", np.diag(F.D.diagonal().real ** -0.5).astype(dtype))
    tolerance = 1e-3 if dtype == np.float32 else 1e-10
    assert abs(W @ W.conj().T @ A - np.eye(n)).max() < tolerance
    b = rng.standard_normal((n, 3)).astype(dtype)
    x = F.solve_part("LT", F.solve_part("D", F.solve_part("L", b)))
    assert abs(A @ x - b).max() < tolerance * 10
    with pytest.raises(ValueError, match="part"):
        F.solve_part("U", b)


def test_parts_of_exchanged_pivots():
    """Entry k between L and D is that of perm[k]: on a matrix whose pivots are exchanged."""
    A = np.array([[1, 2, 0.5, 1], [2, -3, 1, 7], [0.5, 1, 0.1, 2], [1, 7, 2, 5]])
    F = pymetapack.ldl(A, scaling="off")
    L = np.linalg.inv(F.solve_part("L", np.eye(4))[:, F.perm])
    assert np.allclose(np.triu(L, 1), 0) and np.allclose(np.diag(L), 1)
    assert np.allclose(L @ F.D.toarray() @ L.T, A[np.ix_(F.perm, F.perm)])


def test_rank_has_a_word():
    assert pymetapack.ldl(np.eye(3)).stats()["factor"]["rank"] == "full"
    F = pymetapack.ldl(np.ones((3, 3)), singular="ignore")
    assert F.stats()["factor"]["rank"] == "numerical"
    F = pymetapack.ldl(np.diag([1.0, 0, 2]), singular="ignore")
    assert F.stats()["factor"]["rank"] in ("structural", "numerical")


def test_shift_at_an_eigenvalue():
    n = 60
    A = sp.diags([np.ones(n - 1), np.full(n, 2.0), np.ones(n - 1)], [-1, 0, 1], format="csc")
    A = sp.block_diag([A, A]).tocsc()
    sigma = 2 - 2 * np.cos(np.pi * 7 / (n + 1))
    with pytest.warns(pymetapack.ZeroPivotWarning):
        F = pymetapack.ldl(sp.block_diag([A - sigma * sp.identity(2 * n), np.ones((2, 2))]))
    b = np.zeros(2 * n + 2)
    b[-1] = 1
    for check in ("first", "always"):
        with pytest.raises(pymetapack.SingularMatrixError, match="zero_tolerance=0"):
            F.aslinearoperator(check) @ b


def test_single_precision():
    a = pymetapack.generate("nlpkkt 5")
    b = np.random.default_rng(2).standard_normal(a.shape[0])
    double, single = pymetapack.ldl(a), pymetapack.ldl(a, precision="single")
    told = single.stats()["factor"]
    assert told["precision"] == "single" and told["unfit"] == ""
    assert told["bytes"] < 0.6 * double.stats()["factor"]["bytes"]
    for settings in ({}, {"refine": 0}, {}):  # each is refined
        check_solution(a.toarray(), single.solve(b, **settings), b)
    assert single.solve(b, refine=0) == pytest.approx(double.solve(b), rel=1e-9)
    near = np.array([[1, 1], [1, 1 + 1e-9]])
    told = pymetapack.ldl(near, precision="single").stats()["factor"]
    assert told["precision"] == "double" and told["unfit"] in ("pivots", "condition")


def test_low_rank():
    n = 1100
    place = np.linspace(0, 1, n)
    a = 0.05 / (0.1 + abs(place[:, None] - place)) + np.diag(np.where(np.arange(n) % 3, 3.0, -3.0))
    b = np.random.default_rng(2).standard_normal(n)
    whole, low = pymetapack.ldl(a), pymetapack.ldl(a, low_rank_tolerance=1e-8)
    told = low.stats()["factor"]
    assert told["low_rank_tolerance"] == 1e-8 and told["unfit"] == ""
    assert told["low_rank_nnz"] < 0.5 * told["nnz"] and told["bytes"] < 0.6 * whole.stats()["factor"]["bytes"]
    for settings in ({}, {"refine": 0}):  # each is refined
        check_solution(a, low.solve(b, **settings), b)
    assert low.inertia == whole.inertia
    with pytest.raises(pymetapack.MetapackError, match="low rank"):
        low.inverse_diagonal()
    assert pymetapack.ldl(a[:50, :50], low_rank_tolerance=1e-8).stats()["factor"]["low_rank_tolerance"] == 0
