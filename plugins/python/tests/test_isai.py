# SPDX-License-Identifier: BSD-3-Clause
"""Approximate inverses: (A M - I) = 0 on the pattern, what they are used for, what is refused."""

import sys

import gpu
import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack as mp
from support import DTYPES, random_values


def matrix(dtype, n=60, seed=4):
    rng = np.random.default_rng(seed)
    a = sp.random(n, n, 0.06, random_state=7).toarray() != 0
    a = random_values(rng, (n, n), dtype) * (a | a.T) / 4
    return sp.csr_matrix((a + 2 * np.eye(n)).astype(dtype))


def part(a, kind):
    a = a.toarray()
    return np.tril(a) if kind == "lower" else np.triu(a) if kind == "upper" else a


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["lower", "upper", "general"])
@pytest.mark.parametrize("power", [0, 1, 2])
def test_equation(dtype, kind, power):
    a = matrix(dtype)
    inverse = mp.isai(a, kind, power=power)
    m = inverse.matrix().toarray()
    held = inverse.matrix().copy()
    held.data[:] = 1
    pattern = np.linalg.matrix_power((a.toarray() != 0).astype(float) + np.eye(60), power) > 0
    pattern = part(sp.csr_matrix(pattern.astype(float)), kind) > 0
    assert np.array_equal(held.toarray() > 0, pattern)
    error = np.abs(part(a, kind) @ m - np.eye(60))[pattern]
    assert error.max() <= 500 * np.finfo(dtype).eps
    b = random_values(np.random.default_rng(1), (60, 3), dtype)
    near = 500 * np.finfo(dtype).eps * np.abs(m).max()
    assert np.abs(inverse @ b - m @ b).max() <= near
    assert np.abs(inverse.solve(b, side="t") - m.T @ b).max() <= near
    assert np.abs(inverse.aslinearoperator().rmatvec(b[:, 0]) - m.conj().T @ b[:, 0]).max() <= near
    assert inverse.info()["entries"] == pattern.sum() and sum(inverse.info()["columns"]) == 60


def test_other_patterns():
    a = matrix(np.float64)
    jacobi = mp.isai(a, "general", block=1).matrix().toarray()
    assert np.allclose(jacobi, np.diag(1 / a.diagonal()))
    full = mp.isai(a, pattern=np.ones((60, 60)))
    assert np.allclose(full.matrix().toarray() @ np.tril(a.toarray()), np.eye(60))
    relaxed = mp.isai(a, relax=60)
    assert np.allclose(np.tril(a.toarray()) @ (relaxed @ np.ones(60)), 1)
    single = mp.isai(a, precision="single").matrix() - mp.isai(a).matrix()
    assert 0 < np.abs(single).max() < 1e-6
    g = mp.isai(a @ a.T + sp.eye(60), "definite").matrix().toarray()
    assert np.allclose(np.diag(g.T @ (a @ a.T + sp.eye(60)).toarray() @ g), 1)


def test_update():
    a = matrix(np.float64)
    inverse = mp.isai(a)
    again = inverse.update(3 * a)
    assert again is inverse and np.allclose(3 * again.matrix().data, mp.isai(a).matrix().data)
    with pytest.raises(ValueError):
        inverse.update(a + sp.eye(60, k=5))


def test_refused():
    a = matrix(np.float64).tolil()
    with pytest.raises(mp.ArgumentError, match="column"):
        mp.isai(a, power=3, limit=4)
    assert mp.isai(a, power=3, limit=4, over="largest").info()["longest"] == 4
    assert mp.isai(a, power=3, limit=4, over="less").info()["over"] > 0
    a[7, 7] = 0
    with pytest.raises(mp.InputError, match="column 8"):
        mp.isai(a)
    with pytest.raises(ValueError, match="kind"):
        mp.isai(a, "strict")
    with pytest.raises(ValueError, match="side"):
        mp.isai(matrix(np.float64)).solve(np.ones(60), side="x")
    with pytest.raises(ValueError, match="square"):
        mp.isai(np.ones((3, 4)))
    with pytest.warns(mp.MetapackWarning, match="singular"):
        assert mp.isai(np.array([[4.0, 2], [2, 1]]), "general").status == "singular"


def test_in_a_factor():
    a = sp.diags([-1.0, -1, 4.2, -1, -1], [-8, -1, 0, 1, 8], shape=(64, 64)).tocsc()
    F = mp.ildl(a, method="ilu0", triangular="isai", isai_power=2, isai_relax=1, krylov="sqmr")
    x = F.solve(np.ones(64))
    assert np.allclose(a @ x, 1)
    assert F.stats()["block"]["isai"]["entries"] > 64
    assert sum(F.stats()["block"]["isai"]["columns"]) == 64
    F = mp.ildl(a, method="ilu0", triangular="auto", isai_power=2, isai_relax=1, krylov="sqmr")
    assert np.allclose(a @ F.solve(np.ones(64)), 1)
    block = F.stats()["block"]
    assert block["exact_s"] > 0 and block["inverses_s"] > 0
    assert 0 <= block["inverses_error"] < 0.1
    with pytest.raises(ValueError, match="exact.*jacobi.*isai.*auto"):
        mp.ildl(a, method="ilu0", triangular="best")


# ---- on a GPU ------------------------------------------------------------------------------------


@pytest.fixture
def cupy(monkeypatch):
    if not gpu.there:
        pytest.skip("METAPACK_CUDA_HOST names no module")
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)
    monkeypatch.setitem(sys.modules, "cupy", gpu.cupy())
    return sys.modules["cupy"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("kind", ["lower", "general"])
def test_device(cupy, dtype, kind):
    """The processor's columns, bit by bit; arrays of the host's and of CuPy's."""
    a = sp.csc_matrix(matrix(dtype, 24))
    a.sort_indices()
    there = gpu.Sparse(a)
    want, b = mp.isai(a, kind, power=2, relax=1), np.arange(48.0).reshape(24, 2).astype(dtype)
    for given, device in ((a, "cuda"), (there, None), (there, "cuda:0")):
        inverse = mp.isai(given, kind, power=2, relax=1, device=device)
        assert inverse.device == "cuda:0" and inverse.shape == (24, 24)
        assert np.array_equal(inverse.matrix().toarray(), want.matrix().toarray())
        assert np.allclose(inverse @ b, want @ b, atol=1e-4)
        x = inverse @ gpu.ndarray(gpu.moved(b, "F"))
        assert isinstance(x, gpu.ndarray) and np.allclose(x.get(), want @ b, atol=1e-4)
        out = gpu.ndarray(gpu.moved(b[:, 0]))
        assert inverse.solve(gpu.ndarray(gpu.moved(b[:, 0])), side="h", out=out) is out
        assert np.allclose(out.get(), want.solve(b[:, 0], side="h"), atol=1e-4)
        plain = inverse @ gpu.Plain(b[:, 1])  # nobody's array
        assert np.allclose(plain.get(), want @ b[:, 1], atol=1e-4)
        inverse.update(gpu.Sparse(3 * a) if device is None else 3 * a)
        assert np.allclose(3 * inverse.matrix().toarray(), want.matrix().toarray(), atol=1e-4)
    with_pattern = mp.isai(there, kind, pattern=gpu.Sparse(a))
    assert with_pattern.info()["entries"] == mp.isai(a, kind).info()["entries"]


def test_device_refused(cupy):
    a = sp.csc_matrix(matrix(np.float64, 12))
    there, b = gpu.Sparse(a), gpu.ndarray(gpu.moved(np.ones(12)))
    with pytest.raises(ValueError, match="device"):
        mp.isai(a, device="gpu")
    with pytest.raises(mp.MetapackError, match="device 3"):
        mp.isai(a, device="cuda:3")
    with pytest.raises(TypeError):
        mp.isai(there, device="cpu")
    with pytest.raises(TypeError):
        mp.isai(a) @ b
    with pytest.raises(TypeError):
        mp.isai(a).update(there)
    with pytest.raises(ValueError, match="shape"):
        mp.isai(there) @ gpu.ndarray(gpu.moved(np.ones(5)))
    with pytest.raises(ValueError, match="another"):
        mp.isai(there).update(gpu.Sparse(sp.eye(12, format="csc")))
    with pytest.raises(TypeError, match="dense"):
        mp.isai(b)
