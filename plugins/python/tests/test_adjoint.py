# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives in the values of a pattern without a framework: the formulas against differences, and
one factor for the same values."""

import gc
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from support import DTYPES, random_values, symmetric

import pymetapack
from pymetapack._adjoint import Layout, places_of
from pymetapack._factors import Factors, _Lease

KINDS = [(np.float64, False), (np.complex128, False), (np.complex128, True)]
FORMS = [sp.csr_matrix, sp.csc_matrix, sp.coo_matrix]


@pytest.fixture
def rng():
    return np.random.default_rng(1980)


def given(a, lower, form):
    return form(a if lower is None else np.tril(a) if lower else np.triu(a))


def made(A, lower, hermitian, keep=1, **options):
    rows, cols, n = places_of(A)
    layout = Layout(n, rows, cols, lower, hermitian)
    return layout, Factors(layout, "ignore", keep, options)


def regular(rng, n, dtype, hermitian=False):
    a = symmetric(rng, n, dtype, hermitian, zero_diagonal=True)
    return a + 3 * np.diag((-1.0) ** np.arange(n) * (np.arange(n) % 3 > 0)).astype(dtype)


def inner(a, b):
    """What a gradient a of a real function says of a step b."""
    return np.sum(np.conj(a) * b).real


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("dtype, hermitian", KINDS)
def test_formulas_against_differences(rng, dtype, hermitian, lower, form):
    n = 9
    A = given(regular(rng, n, dtype, hermitian), lower, form)
    layout, factors = made(A, lower, hermitian)
    step = given(symmetric(rng, n, dtype, hermitian, density=1), lower, np.asarray)
    d = np.array([step[i, j] for i, j in zip(*places_of(A)[:2])])
    b, db, c = (random_values(rng, (n, 2), dtype) for _ in range(3))

    def loss(values, b):
        l = layout.pack(values)
        x, held = factors.solve(l, b)
        _, log, held = factors.slogdet(l, held)
        return inner(c, x) + log

    l = layout.pack(A.data)
    assert np.allclose(layout.push(d), (layout.pack(A.data + d) - l), atol=1e-12)
    x, held = factors.solve(l, b)
    z, _ = factors.selected(l, held)
    g = factors.solve(l, c if hermitian else c.conj(), held)[0]
    g = g if hermitian else g.conj()
    gl = -layout.pair(g, x) + np.where(layout.diagonal, 1, 2) * (z if hermitian else z.conj())
    gradient = layout.pull(gl)
    eps = 1e-6
    difference = (loss(A.data + eps * d, b + eps * db) - loss(A.data - eps * d, b - eps * db)) / (
        2 * eps
    )
    assert np.isclose(inner(gradient, d) + inner(g, db), difference, rtol=1e-6)
    dense = np.zeros((n, n), dtype)
    dense[places_of(A)[:2]] = gradient
    if lower is None:  # a step along it keeps A symmetric
        assert np.allclose(dense, dense.conj().T if hermitian else dense.T)


@pytest.mark.parametrize("dtype", DTYPES)
def test_batches(rng, dtype):
    n, hermitian = 12, np.dtype(dtype).kind == "c"
    A = sp.csc_matrix(np.tril(regular(rng, n, dtype, hermitian)))
    layout, factors = made(A, True, hermitian, keep=3)
    l = np.stack([A.data, 2 * A.data, -A.data])
    b = random_values(rng, (3, n, 2), dtype)
    whole = [
        (k * (A + sp.tril(A, -1).conj().T if hermitian else A + sp.tril(A, -1).T)).toarray()
        for k in (1, 2, -1)
    ]
    want = np.stack([np.linalg.solve(a, side) for a, side in zip(whole, b)])
    tolerance = (
        dict(rtol=1e-3, atol=1e-3 * np.abs(want).max()) if np.finfo(dtype).bits == 32 else {}
    )
    x, held = factors.solve(l, b)
    assert x.dtype == dtype and np.allclose(x, want, **tolerance) and len(held) == 3
    assert np.allclose(
        factors.solve(l[0], b)[0] / 1,
        np.stack([np.linalg.solve(whole[0], side) for side in b]),
        **tolerance,
    )
    assert factors.solve(l[:, None], b[:2])[0].shape == (3, 2, n, 2)
    assert factors.solve(l[:0], b[:0])[0].shape == (0, n, 2) and factors.solve(l, b[:, :, :0])[
        0
    ].shape == (3, n, 0)
    sign, log, _ = factors.slogdet(l)
    assert np.allclose(log, [np.linalg.slogdet(a)[1] for a in whole], rtol=1e-4) and sign.shape == (
        3,
    )
    assert factors.count == 3  # all of it


def test_duplicates_are_summed(rng):
    rows, cols = np.array([0, 0, 1, 1, 0]), np.array([0, 0, 0, 1, 1])
    layout = Layout(2, rows, cols, None, False)
    values = np.array([1.0, 2, 5, -3, 5])
    assert layout.pack(values).tolist() == [3, 5, -3]
    assert layout.pull(np.array([1.0, 2, 3])).tolist() == [1, 1, 1, 3, 1]
    assert Layout(2, rows, cols, True, False).pack(values).tolist() == [3, 5, -3]
    assert Layout(2, rows, cols, True, False).pull(np.array([1.0, 2, 3])).tolist() == [
        1,
        1,
        2,
        3,
        0,
    ]


def test_what_is_refused():
    with pytest.raises(pymetapack.PatternError, match="row 1, column 0 and not row 0, column 1"):
        Layout(2, np.array([0, 1]), np.array([0, 0]), None, False)
    layout = Layout(2, np.array([0, 1, 0]), np.array([0, 0, 1]), None, False)
    with pytest.raises(pymetapack.InputError, match="not symmetric"):
        layout.pack(np.array([1.0, 2, 3]))
    with pytest.raises(pymetapack.InputError):
        layout.pack(np.array([1.0, np.nan, np.nan]))
    with pytest.warns(pymetapack.SymmetryWarning):
        assert np.isclose(layout.pack(np.array([1.0, 2, 2 + 1e-8]))[1], 2 + 5e-9, rtol=1e-12)
    with pytest.raises(pymetapack.InputError, match="real"):
        Layout(1, np.array([0]), np.array([0]), True, True).pack(np.array([1 + 1j]))
    with pytest.raises(ValueError, match="outside"):
        Layout(2, np.array([0, 2]), np.array([0, 1]), True, False)
    with pytest.raises(ValueError, match="ldlt"):
        Factors(layout, "warn", 1, {"method": "ildlt"})


def test_options_that_are_none():
    with pytest.raises(TypeError, match="'ordering'"):
        made(sp.eye(2, format="csc"), True, False, orderin="metis")
    with pytest.raises(pymetapack.ArgumentError, match="bogus"):
        made(sp.eye(2, format="csc"), True, False, ordering="bogus")


def test_a_lease_without_a_factor_goes_quietly():
    _Lease.__new__(_Lease).__del__()


def test_singular(rng):
    layout, factors = made(sp.csc_matrix(np.ones((2, 2))), None, False)
    l = np.ones(3)
    assert np.allclose(factors.solve(l, np.ones((2, 1)))[0].sum(), 1)
    sign, log, _ = factors.slogdet(l)
    assert sign == 0 and log == -np.inf
    for call in (
        lambda: factors.solve(l, np.array([[1.0], [0]])),
        lambda: factors.regular(l),
        lambda: factors.selected(l),
    ):
        with pytest.raises(pymetapack.SingularMatrixError):
            call()


def test_one_factor_for_the_same_values(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 20, np.float64)))
    _, factors = made(A, True, False, keep=1)
    b = np.ones((20, 1))
    x, held = factors.solve(A.data, b)
    again, others = factors.solve(A.data.copy(), b)
    assert factors.count == 1 and held[0] is others[0] and np.array_equal(x, again)
    factors.solve(2 * A.data, b)
    assert np.array_equal(factors.solve(A.data, b, held)[0], x) and factors.count == 2  # still held
    assert np.array_equal(factors.solve(A.data, b)[0], x) and factors.count == 2
    del held, others
    for k in range(3, 8):
        factors.solve(k * A.data, b)
    assert factors.count == 7 and len(factors._last) == 1
    assert np.allclose(factors.solve(A.data, b)[0], x) and factors.count == 8


def test_memory_serves_the_next_values(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 20, np.float64)))
    _, factors = made(A, True, False, keep=2)
    used = set()
    for k in range(1, 9):
        used.add(id(factors.solve(k * A.data, np.ones((20, 1)))[1][0].factor))
    assert len(used) <= 3


def test_factors_outlive_what_they_were_made_by(rng):
    """The analysis is the first factor's."""
    A = sp.csc_matrix(np.tril(regular(rng, 20, np.float64)))
    _, factors = made(A, True, False, keep=1)
    first = factors.of(A.data[None])
    second = factors.of(2 * A.data[None])[0]
    del first, factors
    gc.collect()
    whole = (A + sp.tril(A, -1).T).toarray()
    assert np.allclose(2 * whole @ second.factor.solve(np.ones(20)), 1)
    cycle = [second]
    cycle.append(cycle)
    del second, cycle
    gc.collect()


def test_what_is_given_back_is_not_found_any_more(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 20, np.float64)))
    _, factors = made(A, True, False, keep=1)
    factors.of(A.data[None])
    pool, key, seen = factors._pools[A.dtype], next(iter(factors._known)), []
    pool.give = lambda factor: seen.append(factors._known.get(key))
    factors.of(2 * A.data[None])
    assert seen == [None]


def test_threads(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 30, np.float64)))
    _, factors = made(A, True, False, keep=2, threads=1)
    b = np.ones((30, 1))
    want = factors.solve(A.data, b)[0]
    wrong = []

    def work(seed):
        for k in np.random.default_rng(seed).integers(1, 7, 60):
            if not np.allclose(factors.solve(float(k) * A.data, b)[0] * k, want):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_nothing_is_imported_unless_asked():
    import subprocess
    import sys

    code = "import sys, pymetapack; assert not {'torch', 'jax'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_entries():
    layout, factors = made(sp.csc_matrix((0, 0)), None, False)
    l = layout.pack(np.zeros((2, 0)))
    x, held = factors.solve(l, np.zeros((2, 0, 3)))
    assert (
        x.shape == (2, 0, 3)
        and factors.selected(l)[0].shape == (2, 0)
        and len(factors.slogdet(l)[1]) == 2
    )
    assert layout.pair(x, x).shape == (2, 0)
