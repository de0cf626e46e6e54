# SPDX-License-Identifier: BSD-3-Clause
"""ldl_batch with values: many sparse systems of one pattern."""

import runpy
import sys
import tracemalloc
import warnings

import gpu
import numpy as np
import pymetapack as mp
import pytest
import scipy.sparse as sp
from support import ROOT


def kkt(n=30, m=12, seed=0, dtype=float):
    rng = np.random.default_rng(seed)
    h = sp.diags(1 + rng.random(n))
    b = sp.random(m, n, 0.2, random_state=seed) + sp.eye(m, n)
    return sp.csr_array(sp.bmat([[h, b.T], [b, None]]).astype(dtype))


def changed(A, count, seed=1):
    """Values of symmetric matrices: those of A, rows and columns scaled by random numbers."""
    rng = np.random.default_rng(seed)
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    s = 1 + 0.2 * rng.random((count, A.shape[0]))
    return A.data * s[:, rows] * s[:, A.indices]


def matrix(A, data):
    return sp.csr_array((data, A.indices, A.indptr), shape=A.shape)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_solve(dtype):
    A = kkt(dtype=dtype)
    values = changed(A, 19).astype(dtype)
    rng = np.random.default_rng(2)
    x = rng.random((19, A.shape[0], 2)).astype(dtype)
    b = np.stack([matrix(A, v) @ y for v, y in zip(values, x)])
    f = mp.ldl_batch(A, values, certify=True, hermitian=True)
    found = f.solve(b)
    assert np.abs(found - x).max() < (1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-10)
    assert (f.status == 0).all() and f.words == ["ok"] * 19
    assert (f.omega <= (1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-14)).all()
    assert (f.inertia == [30, 12, 0]).all() and f.certified.all()
    assert f.info["by_template"] + f.info["by_single"] == 19
    one = mp.ldl(matrix(A, values[7]), hermitian=True)
    assert np.isclose(f.logdet[7, 0], np.log(np.abs(np.linalg.det(one_dense(A, values[7])))), rtol=1e-4)
    assert one.inertia[:3] == (30, 12, 0)
    assert np.abs(f.solve(b[:, :, 0]) - x[:, :, 0]).max() < (1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-10)


def test_told_in_a_line():
    A, B = kkt(), kkt(20, 5)
    values = changed(A, 3)
    values[1] = 0
    with pytest.warns(mp.MetapackWarning):
        f = mp.ldl_batch(A, values)
    assert repr(f) == "<Factors of 3 systems, order 42, float64: 2 ok, 1 singular>"
    assert repr(mp.ldl_batch([A, B])) == "<Factors of 2 systems, order 25 to 42, float64: 2 ok>"


def one_dense(A, data):
    return matrix(A, data).toarray().astype(complex)


def test_masks_and_new_values():
    A = kkt()
    f = mp.ldl_batch(A, changed(A, 9))
    b = np.ones((9, A.shape[0]))
    first = f.solve(b)
    mask = np.arange(9) % 2 == 0
    values = changed(A, 9, 5)
    assert f.refactorize(values, mask=mask) is f
    x = f.solve(b)
    assert (x[~mask] == first[~mask]).all()
    assert (x == mp.ldl_batch(A, np.where(mask[:, None], values, changed(A, 9))).solve(b)).all()
    assert np.isnan(f.solve(b, mask=mask)[~mask]).all()
    bare = f.solve(b, refine=False)
    assert np.abs(bare - x).max() < 1e-10


def test_list_and_triangle():
    A = kkt()
    values = changed(A, 4)
    b = np.ones((4, A.shape[0]))
    x = mp.ldl_batch(A, values).solve(b)
    assert (mp.ldl_batch(A, [matrix(A, v) for v in values]).solve(b) == x).all()
    lower = [sp.csr_array(sp.tril(matrix(A, v))) for v in values]
    half = mp.ldl_batch(lower[0], np.stack([m.data for m in lower]), lower=True)
    assert np.abs(half.solve(b) - x).max() < 1e-10


def test_failing():
    A = kkt()
    values = changed(A, 5)
    values[2] = np.nan
    values[3] = 0
    with pytest.warns(mp.MetapackWarning):
        f = mp.ldl_batch(A, values)
    assert f.words == ["ok", "ok", "input", "singular", "ok"]
    assert f.refused(2) == {"entry": 0, "row": 0, "column": 0}
    with pytest.raises(mp.ArgumentError):
        f.refused(1)
    one = changed(A, 5)
    one[4, 7] = np.inf
    with pytest.warns(mp.MetapackWarning, match=r"number 4 the first of them: value 7: row \d+, column \d+ is NaN"):
        f.refactorize(one)
    assert f.refused(4)["entry"] == 7
    with pytest.warns(mp.MetapackWarning):
        f.refactorize(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = f.solve(np.ones((5, A.shape[0])))
    assert np.isnan(x[2]).all() and np.isfinite(x[[0, 1, 4]]).all()
    good = changed(A, 5)
    assert (x[0] == mp.ldl_batch(A, good).solve(np.ones((5, A.shape[0])))[0]).all()


def test_learn():
    A = kkt()
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    late = np.where((rows == A.indices) & (rows < 30), 10.0 ** (12 * np.sin(5 * rows)), 1)
    far = changed(A, 9) * late  # as in the last steps of an interior-point method
    b = np.ones((9, A.shape[0]))
    f = mp.ldl_batch(A, far)
    first, alone = f.solve(b), f.info["by_single"]
    assert alone > 4
    assert f.learn().refactorize(far).info["by_template"] == 9
    x = f.solve(b)
    assert np.abs(x - first).max() < 1e-6 * np.abs(x).max() and (f.omega < 1e-14).all()
    with pytest.raises(mp.ArgumentError):
        f.learn(9)


OWN = [1e-9, 1, 1, 1e-9]  # the template's pivots do not suit it
ILL = [1e151, 1e160, 1e160, 1e151]  # too large for packs: the single engine does it


def small(values=(2.0, 1, 1, 3)):
    return sp.csr_array(np.reshape(values, (2, 2)).astype(float))


def test_lost_factors():
    """What is told of systems follows the library where no call writes results of them."""
    A = small()
    values = np.array([ILL, ILL, A.data])
    b = np.ones((3, 2))
    f = mp.ldl_batch(A, values, keep=False)
    assert f.tier.tolist() == [2, 2, 1] and f.words == ["ok"] * 3
    f.factorize(values, mask=[False, True, True])
    assert f.tier.tolist() == [0, 2, 1] and f.words == ["argument", "ok", "ok"]
    with pytest.raises(ValueError):
        f.factorize(values, mask=[True, True])
    with pytest.raises(mp.ArgumentError):
        f.learn(0)
    assert f.tier.tolist() == [0, 2, 1]
    assert f.learn() is f  # of system 1
    assert f.tier.tolist() == [0, 2, 0] and f.words == ["argument", "ok", "argument"]
    with pytest.warns(mp.MetapackWarning) as told:
        x = f.solve(b)
    assert told[0].filename == __file__
    assert np.isnan(x[[0, 2]]).all() and np.allclose(1e160 * x[1], 1)
    f.factorize(values)
    assert (f.tier > 0).all() and f.words == ["ok"] * 3 and np.isfinite(f.solve(b)).all()
    kept = mp.ldl_batch(A, values).factorize(values, mask=[False, True, True])
    assert kept.tier.tolist() == [2, 2, 1] and kept.words == ["ok"] * 3


def test_own():
    A = small()
    values = np.array([OWN, A.data, ILL, OWN])
    f = mp.ldl_batch(A, values)
    assert f.tier.tolist() == [3, 1, 2, 3] and f.words == ["ok"] * 4
    assert f.info["by_own"] == 2 and (f.inertia[0] == [1, 1, 0]).all()
    assert np.allclose(f.solve(np.ones((4, 2)))[[0, 3]], 1)
    assert f.learn() is f  # of system 0; factors by the old tree are lost
    assert f.tier.tolist() == [0, 0, 2, 0] and f.words == ["argument", "argument", "ok", "argument"]
    assert f.refactorize(values).tier[0] == 1


@pytest.mark.parametrize("mixed", [False, True])
def test_lost_in_a_failure(mixed):
    stop = []
    values = np.array([ILL, [2.0, 1, 1, 3], ILL, ILL])
    some = [small(v) for v in values]
    how = {"threads": 1, "keep": False, "progress": lambda *_: bool(stop)}
    if mixed:
        some[3] = sp.eye(3, format="csr")  # a call that ends after the first pattern
    f = mp.ldl_batch(some, **how) if mixed else mp.ldl_batch(small(), values, **how)
    assert (f.tier > 0).all()
    f.factorize(some if mixed else values, mask=[False, True, True, True])
    assert f.tier[0] == 0 and f.words[0] == "argument" and (f.tier[1:] > 0).all()
    right = [np.ones(n) for n in f.n] if mixed else np.ones((4, 2))
    f.solve(right, mask=f.tier > 0)  # progress tells of another stage at once
    stop.append(1)
    with pytest.raises(mp.CancelledError):
        f.factorize(some if mixed else values, mask=[True, True, True, False])
    assert not f.tier[:3].any() and f.words[:3] == ["argument"] * 3
    stop.clear()
    with pytest.warns(mp.MetapackWarning):
        x = f.solve(right)
    assert [bool(np.isnan(y).all()) for y in x] == (f.tier == 0).tolist()
    f.factorize(some if mixed else values)
    assert (f.tier > 0).all() and f.words == ["ok"] * 4


def test_no_entries():
    with pytest.warns(mp.ZeroPivotWarning):
        f = mp.ldl_batch([sp.csr_matrix((3, 3)), sp.eye(2, format="csr")])
    assert f.words == ["singular", "ok"] and f.inertia.tolist() == [[0, 0, 3], [2, 0, 0]]


def test_lists_refused():
    A, I = small(), sp.eye(3, format="csr")
    values = np.array([A.data, A.data])
    for given, error, words in [
        (([I, np.eye(3)],), TypeError, "matrix 1 of the list is not sparse, but of type ndarray"),
        (((m for m in [A, I]),), TypeError, "not a generator"),
        (([],), ValueError, "empty"),
        (([A, I], values), TypeError, "a list of matrices and values"),
        ((A, [np.eye(2), A]), TypeError, "matrix 0 of the values is not sparse"),
        ((A, (v for v in values)), TypeError, "not a generator"),
    ]:
        with pytest.raises(error, match=words):
            mp.ldl_batch(*given)
    f = mp.ldl_batch([A, I])
    for given in [(m for m in [A, I]), [A, np.eye(3)], []]:
        with pytest.raises((TypeError, ValueError)):
            f.factorize(given)
    assert mp.ldl_batch([np.eye(2), np.eye(2)]).count == 2  # dense ones


def test_refused():
    A = kkt()
    with pytest.raises(ValueError):
        mp.ldl_batch(A, np.ones((3, 5)))
    with pytest.raises(TypeError):
        mp.ldl_batch(A, changed(A, 3), pivoting="rook")
    with pytest.raises(TypeError):
        mp.ldl_batch(A.toarray(), changed(A, 3))
    with pytest.raises(TypeError):
        mp.ldl_batch(np.ones((1, 2, 2)), expected=4)
    f = mp.ldl_batch(A, changed(A, 3))
    with pytest.raises(ValueError):
        f.solve(np.ones((2, A.shape[0])))
    with pytest.raises(ValueError):
        f.solve(np.ones((3, A.shape[0])), mask=[1, 0, 1])
    with pytest.raises(ValueError):
        f.refactorize(changed(A, 4))


def test_general():
    rng = np.random.default_rng(5)
    A = sp.csr_array(sp.random(20, 20, 0.2, random_state=5) + 3 * sp.eye(20))
    values = A.data * (1 + 0.3 * rng.random((7, A.nnz)))
    b = rng.random((7, 20))
    f = mp.ldl_batch(A, values, general=True)
    x = f.solve(b)
    for v, y, c in zip(values, x, b):
        assert np.abs(matrix(A, v) @ y - c).max() < 1e-12
    assert (f.status == 0).all() and f.info["by_single"] == 7 and "not symmetric" in f.info["reason"]
    assert np.isclose(f.logdet[3, 0], np.linalg.slogdet(matrix(A, values[3]).toarray())[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
def test_mixed(dtype):
    some = [kkt(30, 12, 0, dtype), kkt(20, 5, 1, dtype), kkt(30, 12, 0, dtype)]
    some[2].data = changed(some[2], 1)[0].astype(dtype)
    rng = np.random.default_rng(3)
    x = [rng.random((A.shape[0], 2)).astype(dtype) for A in some]
    b = [A @ y for A, y in zip(some, x)]
    f = mp.ldl_batch(some, certify=True, hermitian=True)
    close = 1e-3 if np.finfo(dtype).eps > 1e-10 else 1e-10
    for y, found in zip(x, f.solve(b)):
        assert found.shape == y.shape and np.abs(found - y).max() < close
    assert f.info["patterns"] == 2 and f.n.tolist() == [42, 25, 42] and f.certified.all()
    assert f.inertia.tolist() == [[30, 12, 0], [20, 5, 0], [30, 12, 0]]
    for y, found in zip(x, f.solve([c[:, 0] for c in b], refine=False)):
        assert found.shape == y[:, 0].shape and np.abs(found - y[:, 0]).max() < close
    # other values, and one that is left alone
    mask = np.array([True, False, True])
    f.refactorize([2 * A for A in some], mask=mask)
    found = f.solve(b, mask=mask)
    assert np.abs(found[0] - x[0] / 2).max() < close and np.isnan(found[1]).all()
    assert np.abs(f.solve(b)[1] - x[1]).max() < close


def test_mixed_refused():
    some = [kkt(), kkt(20, 5, 1)]
    f = mp.ldl_batch(some)
    with pytest.raises(ValueError):
        f.solve([np.ones(42)])
    with pytest.raises(ValueError):
        f.solve([np.ones(42), np.ones(42)])
    with pytest.raises(ValueError):
        f.solve([np.ones(42), np.ones((25, 2))])
    with pytest.raises(ValueError):
        f.refactorize(some[::-1])
    with pytest.raises(TypeError):
        mp.ldl_batch(some, expected=3)
    with pytest.raises(TypeError):
        mp.ldl_batch(some, pivoting="rook")
    bad = [some[0], some[1].copy()]
    bad[1].data[3] = np.nan
    with pytest.raises(mp.InputError, match=r"^matrix 1 of the list: entry 3: row \d+, column \d+ is NaN"):
        mp.ldl_batch(bad)


def test_mixed_room():
    """One large system does not make the others' right-hand sides large."""
    some = [sp.eye(20000, format="csr"), *(sp.eye(3, format="csr") for _ in range(2000))]
    f = mp.ldl_batch(some)
    b = [np.ones((A.shape[0], 2)) for A in some]
    tracemalloc.start()
    x = f.solve(b)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert all((y == 1).all() for y in x)
    assert most < 1e8  # 2001 x 20000 x 2 numbers would be 640 MB


def test_mpc():
    path = ROOT / "plugins/python/examples/mpc.py"
    steps, apart, slack, _, inside = runpy.run_path(str(path))["main"](60, "numpy", 3)
    assert steps < 40 and apart < 1e-6 and slack < 1e-7 and inside


def test_contingencies():
    path = ROOT / "plugins/python/examples/contingencies.py"
    v, cut, good = runpy.run_path(str(path))["main"](40)
    assert cut.sum() > 0 and good.sum() == len(v) - cut.sum()


# ---- on a GPU, whose kernels run on the host (gpu.py) ----------------------------------------------

on_gpu = pytest.mark.skipif(not gpu.there, reason="METAPACK_CUDA_HOST names no module")


@pytest.fixture
def module(monkeypatch):
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)


@on_gpu
@pytest.mark.parametrize("make", [gpu.Plain, gpu.Packed, "cupy"])
def test_arrays_there(make, module, monkeypatch):
    if make == "cupy":
        monkeypatch.setitem(sys.modules, "cupy", gpu.cupy())

        def make(x):
            return gpu.ndarray(gpu.moved(x))
    A = kkt()
    values = changed(A, 7)
    b = np.random.default_rng(5).random((7, A.shape[0]))
    host = mp.ldl_batch(A, values, device="cuda")
    x = host.solve(b)
    f = mp.ldl_batch(A, make(values), certify=True)
    there = f.solve(make(b))
    assert type(there) is type(make(b))
    assert (there.get() == x).all()
    assert (f.omega == host.omega).all() and f.omega.max() < 1e-14
    assert f.certified.all() and (f.tier == host.tier).all() and (f.tier == 1).any()
    mask = np.arange(7) != 3
    f.refactorize(make(2 * values), mask=mask)
    there = f.solve(make(b[..., None]), mask=mask).get()[..., 0]
    assert np.isnan(there[3]).all()
    assert np.abs(2 * there[mask] / x[mask] - 1).max() < 1e-6
    two = np.stack([b, 2 * b], axis=-1)
    assert np.abs(f.solve(make(two)).get()[mask] - np.stack([x, 2 * x], -1)[mask] / 2).max() < 1e-8
    assert (f.solve(b)[mask] == there[mask]).all()


@on_gpu
def test_failing_there(module):
    A = kkt()
    values = changed(A, 4)
    values[1, 0] = np.nan
    values[2] = 0
    with pytest.warns(mp.MetapackWarning):
        f = mp.ldl_batch(A, gpu.Plain(values))
    assert f.words == ["ok", "input", "singular", "ok"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x = f.solve(gpu.Plain(np.ones((4, A.shape[0])))).get()
    assert np.isnan(x[1]).all() and np.isfinite(x[[0, 3]]).all()
    with pytest.raises(mp.DeviceError):
        mp.ldl_batch(A, gpu.Plain(values), device="cuda:1")


@on_gpu
def test_mixed_there(module):
    """Systems of several patterns on the GPU: as on the processor, but for rounding."""
    some = [kkt(30, 12, 0), kkt(20, 5, 1), kkt(30, 12, 0), kkt(20, 5, 1)]
    for k, A in enumerate(some):
        A.data = changed(A, 4, k)[k]
    b = [np.ones((A.shape[0], 2)) for A in some]
    f = mp.ldl_batch(some, device="cuda", threads=1)
    assert f.info["by_template"] == 4 and f.info["width"] == 1
    for x, y in zip(f.solve(b), mp.ldl_batch(some).solve(b)):
        assert np.abs(x - y).max() < 1e-10
    assert (f.status == 0).all() and (f.omega <= 1e-14).all()
