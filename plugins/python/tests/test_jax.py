# SPDX-License-Identifier: BSD-3-Clause
"""JAX: derivatives of every order against differences and against dense ones, jit, vmap, what is
refused, threads, memory.  Skipped where there is no JAX."""

import gc
import os
import runpy
import threading

import numpy as np
import pytest
import scipy.sparse as sp
from support import KINDS, ROOT, of_kind as regular

import pymetapack

jax = pytest.importorskip("jax", reason="JAX is not installed")
jax.config.update("jax_enable_x64", True)
import jax.numpy as jnp  # noqa: E402
from jax.experimental.sparse import BCOO, BCSR  # noqa: E402
from jax.test_util import check_grads  # noqa: E402

import pymetapack.jax as mj  # noqa: E402
from pymetapack._adjoint import places_of  # noqa: E402


@pytest.fixture
def rng():
    return np.random.default_rng(2018)


def right_side(rng, n, kind, k=2):
    b = rng.standard_normal((n, k))
    return jnp.asarray(b if kind == "real" else b + 1j * rng.standard_normal((n, k)))


def dense_of(A, lower, kind):
    rows, cols, n = places_of(A)

    def dense(v):
        M = jnp.zeros((n, n), v.dtype).at[rows, cols].add(v)
        turned = M.conj().T if kind == "Hermitian" else M.T
        if lower is None:
            return (M + turned) / 2
        D = jnp.diag(jnp.diag(M))
        return M + turned - (D.real if kind == "Hermitian" else D)

    return dense


@pytest.mark.filterwarnings(
    "ignore::pymetapack.SymmetryWarning"
)  # one of two mirrored entries is moved
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_against_dense_and_differences(rng, kind, lower):
    n, hermitian = 6, kind == "Hermitian"
    a = regular(rng, n, kind)
    A = sp.csr_matrix(a if lower is None else np.tril(a) if lower else np.triu(a))
    solver = mj.Solver(A, lower=lower, hermitian=hermitian, symmetry_tolerance=1e-3)
    dense, v, b = dense_of(A, lower, kind), jnp.asarray(A.data), right_side(rng, n, kind)
    assert np.allclose(jax.jit(solver.solve)(v, b), np.linalg.solve(a, b))
    sign, log = jax.jit(solver.slogdet)(v)
    assert np.allclose((sign, log), np.linalg.slogdet(a))

    def loss(solve, logdet):
        return jax.jit(jax.grad(lambda v, b: (jnp.abs(solve(v, b)) ** 2).sum() + logdet(v), (0, 1)))

    got = loss(solver.solve, solver.logdet)(v, b)
    want = loss(
        lambda v, b: jnp.linalg.solve(dense(v), b), lambda v: jnp.linalg.slogdet(dense(v))[1]
    )(v, b)
    assert all(np.allclose(x, y) for x, y in zip(got, want))
    rows, cols, _ = places_of(A)

    def fit(v):  # the imaginary part of a Hermitian diagonal is none of its values
        return jnp.where(rows == cols, v.real, v) if hermitian else v

    one = solver.slogdet if kind == "symmetric" else solver.logdet
    if lower is not False:
        check_grads(jax.jit(lambda v, b: solver.solve(fit(v), b)), (v, b), 2, eps=1e-5)
        check_grads(jax.jit(lambda v: one(fit(v))), (v,), 2, eps=1e-5)


def test_batches_and_vmap(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 8, "real")))
    solver, dense = mj.Solver(A, lower=True), dense_of(A, True, "real")
    v, b = jnp.asarray(A.data), jnp.asarray(rng.standard_normal(8))
    V, B = jnp.stack([v, 2 * v, -v]), jnp.stack([b, b + 1, 2 * b])
    want = jnp.stack([jnp.linalg.solve(dense(x), y) for x, y in zip(V, B)])
    for x in (solver.solve(V, B), jax.vmap(solver.solve)(V, B), jax.jit(jax.vmap(solver.solve))(V, B),
              jax.vmap(solver.solve, (None, 0))(v, B) / jnp.array([1.0, 2, -1])[:, None]):  # fmt: skip
        assert np.allclose(x, want)
    many = jnp.ones((5, 8, 4))
    shapes = [
        solver.solve(*pair).shape
        for pair in ((V, b), (V, many[0]), (v, many), (V[:, None], many), (V[:0], b))
    ]
    assert shapes == [(3, 8), (3, 8, 4), (5, 8, 4), (3, 5, 8, 4), (0, 8)]

    def loss(v, b):
        return (solver.solve(v, b) ** 2).sum() + solver.logdet(v)

    gradients = jax.jit(jax.vmap(jax.grad(loss, (0, 1))))(V, B)
    assert solver.factorizations == 3  # of all of that
    for k in range(3):
        assert all(
            np.allclose(x[k], y) for x, y in zip(gradients, jax.grad(loss, (0, 1))(V[k], B[k]))
        )
    assert solver.logdet(V[:, None]).shape == (3, 1)


@pytest.mark.parametrize("form", [BCOO.fromdense, lambda a: BCSR.from_bcoo(BCOO.fromdense(a))])
def test_matrices_of_jax(rng, form):
    a = regular(rng, 9, "real")
    M, b = form(a), jnp.ones(9)
    assert np.allclose(a @ mj.solve(M, b), 1) and np.isclose(mj.logdet(M), np.linalg.slogdet(a)[1])
    assert np.isclose(mj.slogdet(M)[0], np.linalg.slogdet(a)[0])
    with pytest.raises(TypeError, match="traced"):
        jax.jit(mj.logdet)(M)
    if isinstance(M, BCOO):  # with indices that are known
        got = jax.jit(jax.grad(lambda data: mj.logdet(BCOO((data, M.indices), shape=M.shape))))(
            M.data
        )
        assert np.allclose(got, np.linalg.inv(a)[tuple(M.indices.T)])


@pytest.mark.parametrize("kind", [np.float32, np.complex64])
def test_single(rng, kind):
    A = sp.csc_matrix(np.tril(regular(rng, 12, "real")))
    solver, b = mj.Solver(A, lower=True), jnp.asarray(rng.standard_normal(12))
    x = solver.solve(
        jnp.asarray(A.data, np.float32), b.astype(kind) * (1 + 0.5 * (kind == np.complex64))
    )
    assert x.dtype == kind
    assert solver.logdet(jnp.asarray(A.data, np.float32)).dtype == np.float32
    assert solver.solve(jnp.asarray(A.data), b.astype(np.float32)).dtype == np.float64
    z = solver.solve(jnp.asarray(A.data), b * 1j)
    assert np.allclose(z.imag, solver.solve(jnp.asarray(A.data), b)) and np.allclose(z.real, 0)


def test_what_is_refused(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 6, "real")))
    solver, v, b = mj.Solver(A, lower=True), jnp.asarray(A.data), jnp.ones(6)
    for call, error, words in (
        (lambda: mj.Solver(A), pymetapack.PatternError, "lower"),
        (lambda: mj.Solver(np.eye(3)), TypeError, "sparse"),
        (lambda: mj.solve(jnp.eye(3), b), TypeError, "jax.experimental.sparse"),
        (lambda: solver.solve(v[1:], b), pymetapack.PatternError, "fits the pattern"),
        (lambda: solver.solve(v, b[1:]), ValueError, "right-hand side"),
        (lambda: solver.solve(v, b[0]), ValueError, "number"),
        (lambda: solver.solve(v.astype(jnp.bfloat16), b), TypeError, "bfloat16"),
        (lambda: solver.solve(v * jnp.nan, b).block_until_ready(), jax.errors.JaxRuntimeError, "InputError"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    assert np.allclose(solver.solve(v, b), solver.solve(v, b))


def test_singular():
    A, values = sp.csc_matrix(np.tril(np.ones((2, 2)))), jnp.ones(3)
    solver = mj.Solver(A, lower=True, singular="ignore")
    assert (
        np.isclose(solver.solve(values, jnp.ones(2)).sum(), 1) and solver.logdet(values) == -np.inf
    )
    for call, words in (
        (lambda: solver.solve(values, jnp.array([1.0, 0])), "inconsistent"),
        (lambda: jax.grad(lambda v: solver.solve(v, jnp.ones(2)).sum())(values), "derivative"),
        (lambda: jax.grad(solver.logdet)(values), "SingularMatrixError"),
    ):
        with pytest.raises(jax.errors.JaxRuntimeError, match=words):
            jax.block_until_ready(call())


def test_threads(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 20, "real")))
    solver, b = mj.Solver(A, lower=True, threads=1), jnp.ones(20)
    gradient = jax.jit(jax.grad(lambda v: solver.solve(v, b).sum() + solver.logdet(v)))
    want, wrong = [gradient(jnp.asarray(A.data) * k) for k in range(1, 7)], []

    def work(seed):
        for k in np.random.default_rng(seed).integers(0, 6, 25):
            if not np.allclose(gradient(jnp.asarray(A.data) * (1 + int(k))), want[int(k)]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_no_memory_is_lost(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 40, "real")))
    solver, b = mj.Solver(A, lower=True), jnp.ones(40)
    gradient = jax.jit(jax.grad(lambda v: solver.solve(v, b).sum() + solver.logdet(v)))

    def resident():
        gc.collect()
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def steps(count):
        for k in range(count):
            gradient(jnp.asarray(A.data) * (1 + 1e-3 * k)).block_until_ready()

    steps(300)
    before = resident()
    steps(1000)
    assert resident() - before < 4e6


def test_the_example():
    runpy.run_path(str(ROOT / "plugins/python/examples/field_likelihood.py"))["main"](30, 400)


def test_many_side_by_side():
    """A batch goes through ldl_batch, and backward takes its factors."""
    rng = np.random.default_rng(12)
    h, c = sp.eye(7), sp.csr_array(rng.standard_normal((3, 7)))
    A = sp.csc_matrix(sp.tril(sp.bmat([[h, c.T], [c, None]])))
    solver = mj.Solver(A, lower=True)
    values = jnp.asarray(A.data * (1 + 0.1 * rng.random((6, A.nnz))))
    b = jnp.asarray(rng.standard_normal((6, 10)))

    def total(v, y):
        return (solver.solve(v, y) ** 2).sum()

    x = solver.solve(values, b)
    found = jax.grad(total, (0, 1))(values, b)
    assert solver.factorizations == 6
    for k in range(6):
        assert float(abs(solver.solve(values[k], b[k]) - x[k]).max()) < 1e-12
        each = jax.grad(total, (0, 1))(values[k], b[k])
        for one, all_of_them in zip(each, found):
            assert float(abs(one - all_of_them[k]).max()) < 1e-10
