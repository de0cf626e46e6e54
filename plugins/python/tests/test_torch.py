# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch: gradients of every order against differences and against dense ones, batches, torch.func,
what is refused, threads, memory.  Skipped where there is no PyTorch."""

import copy
import gc
import os
import pickle
import runpy
import threading
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from support import KINDS, ROOT, of_kind as regular

import pymetapack

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
import pymetapack.torch as mt  # noqa: E402
from torch.autograd import gradcheck, gradgradcheck  # noqa: E402


@pytest.fixture
def rng():
    return np.random.default_rng(2015)


def places(A):
    from pymetapack._adjoint import places_of

    rows, cols, _ = places_of(A)
    return torch.tensor(rows, dtype=torch.int64), torch.tensor(cols, dtype=torch.int64)


def right_side(rng, n, kind, k=2):
    b = rng.standard_normal((n, k))
    return torch.tensor(b if kind == "real" else b + 1j * rng.standard_normal((n, k)))


@pytest.mark.filterwarnings(
    "ignore::pymetapack.SymmetryWarning"
)  # one of two mirrored entries is moved
@pytest.mark.parametrize("form", [sp.csr_matrix, sp.coo_matrix])
@pytest.mark.parametrize("lower", [None, True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_gradcheck(rng, kind, lower, form):
    n = 5
    a = regular(rng, n, kind)
    A = form(a if lower is None else np.tril(a) if lower else np.triu(a))
    solver = mt.Solver(A, lower=lower, hermitian=kind == "Hermitian", symmetry_tolerance=1e-3)
    rows, cols = places(A)
    b = right_side(rng, n, kind).requires_grad_()
    v = torch.tensor(A.data)

    def fit(*parts):  # the imaginary part of a Hermitian diagonal is none of its values
        return (
            torch.complex(parts[0], torch.where(rows == cols, 0.0, parts[1]))
            if len(parts) == 2
            else parts[0]
        )

    parts = [v.real.clone(), v.imag.clone()] if kind == "Hermitian" else [v]
    parts = [part.requires_grad_() for part in parts]
    one = solver.slogdet if kind == "symmetric" else solver.logdet
    for f, inputs in (
        (lambda *p: solver.solve(fit(*p[:-1]), p[-1]), (*parts, b)),
        (lambda *p: one(fit(*p)), parts),
    ):
        assert gradcheck(f, inputs, check_forward_ad=True)
        if form is sp.csr_matrix and lower is not False:
            assert gradgradcheck(f, inputs)


@pytest.mark.parametrize("layout", ["csr", "coo"])
@pytest.mark.parametrize("kind", KINDS)
def test_sparse_tensors_against_dense(rng, kind, layout):
    """The gradient in a sparse tensor is A's own, and symmetric."""
    a = regular(rng, 9, kind)
    hermitian = kind == "Hermitian"
    D = torch.tensor(a).requires_grad_()
    S = (D + (D.mH if hermitian else D.mT)) / 2
    b = right_side(rng, 9, kind)
    ((torch.linalg.solve(S, b).abs() ** 2).sum() + torch.linalg.slogdet(S)[1]).backward()
    T = torch.tensor(a).to_sparse_csr() if layout == "csr" else torch.tensor(a).to_sparse()
    T.requires_grad_()
    (
        (mt.solve(T, b, hermitian=hermitian).abs() ** 2).sum() + mt.logdet(T, hermitian=hermitian)
    ).backward()
    assert T.grad.layout == T.layout
    assert torch.allclose(T.grad.to_dense(), torch.where(torch.tensor(a) != 0, D.grad, 0))
    sign, log = mt.slogdet(T, hermitian=hermitian)
    assert np.allclose((sign.item(), log.item()), np.linalg.slogdet(a))


def dense_of(A):
    rows, cols = places(A)
    n = A.shape[0]

    def dense(v):
        L = torch.zeros(n, n, dtype=v.dtype).index_put((rows, cols), v)
        return L + torch.tril(L, -1).T

    return dense


def test_torch_func(rng):
    """grad, hessian, vmap and their combinations."""
    from torch.func import grad, hessian, jacrev, vmap

    A = sp.csc_matrix(np.tril(regular(rng, 8, "real")))
    solver, dense = mt.Solver(A, lower=True, keep=4), dense_of(A)
    v, b = torch.tensor(A.data), torch.tensor(rng.standard_normal(8))
    pairs = (
        (
            lambda v, b: (solver.solve(v, b) ** 2).sum(),
            lambda v, b: (torch.linalg.solve(dense(v), b) ** 2).sum(),
        ),
        (lambda v, b: solver.logdet(v), lambda v, b: torch.linalg.slogdet(dense(v))[1]),
    )
    V, B = torch.stack([v, 2 * v, -v]), torch.stack([b, b + 1, 2 * b])
    for f, want in pairs:
        assert torch.allclose(grad(f)(v, b), grad(want)(v, b))
        assert torch.allclose(hessian(f)(v, b), hessian(want)(v, b))
        assert torch.allclose(vmap(grad(f))(V, B), vmap(grad(want))(V, B))
    jacobians = [vmap(jacrev(f, (0, 1)), (None, 0))(v, B)
                 for f in (solver.solve, lambda v, b: torch.linalg.solve(dense(v), b))]  # fmt: skip
    assert all(torch.allclose(x, y) for x, y in zip(*jacobians))


def test_batches(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 8, "real")))
    solver, dense = mt.Solver(A, lower=True), dense_of(A)
    V = torch.stack([torch.tensor(A.data) * k for k in (1.0, 2, -1)]).requires_grad_()
    many = torch.ones(5, 8, 4, dtype=torch.float64)
    for values, b in (
        (V, torch.ones(3, 8)),
        (V, torch.ones(8)),
        (V, many[0]),
        (V[0], many),
        (V[:, None], many),
    ):
        b = b.to(torch.float64).requires_grad_()
        x = solver.solve(values, b)
        D = torch.stack([dense(v) for v in values.reshape(-1, solver.nnz)]).reshape(
            *values.shape[:-1], 8, 8
        )
        vector = b.dim() == 1 or b.shape == (3, 8)
        want = torch.linalg.solve(D, b[..., None] if vector else b)
        want = want[..., 0] if vector else want
        assert x.shape == want.shape and torch.allclose(x, want)
        for got, right in zip(
            torch.autograd.grad((x**2).sum(), (V, b)), torch.autograd.grad((want**2).sum(), (V, b))
        ):
            assert torch.allclose(got, right)
    assert solver.logdet(V).shape == (3,) and solver.solve(V[:0], torch.ones(0, 8)).shape == (0, 8)


def test_one_factorization(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 30, "real")))
    solver = mt.Solver(A, lower=True)
    v = torch.tensor(A.data, requires_grad=True)
    b = torch.ones(30, dtype=torch.float64, requires_grad=True)
    losses = [solver.solve(k * v, b).sum() + solver.logdet(k * v) for k in (1.0, 2.0, 3.0)]
    sum(losses).backward()
    assert solver.factorizations == 3
    x, values = torch.ones(30, dtype=torch.float64), v.detach()
    assert not solver.solve(values, x).requires_grad


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_single(rng, dtype):
    A = sp.csc_matrix(np.tril(regular(rng, 12, "real")))
    solver = mt.Solver(A, lower=True)
    b64 = torch.tensor(
        rng.standard_normal((12, 2))
        + (1j * rng.standard_normal((12, 2)) if dtype.is_complex else 0)
    )
    grads = []
    for kind in (torch.float64, torch.float32):
        v = torch.tensor(A.data, dtype=kind, requires_grad=True)
        b = b64.to(dtype if kind == torch.float32 else b64.dtype).requires_grad_()
        x = solver.solve(v, b)
        assert x.dtype == b.dtype  # a complex b with real values
        grads.append(torch.autograd.grad((x.abs() ** 2).sum() + solver.logdet(v), (v, b)))
    for exact, found in zip(*grads):
        assert found.dtype != exact.dtype and torch.allclose(
            found.to(exact.dtype), exact, rtol=1e-3, atol=1e-3
        )
    v = torch.tensor(A.data).to(torch.float32)
    assert solver.solve(v, b64.real.contiguous()).dtype == torch.float64
    assert (
        mt.solve(torch.tensor([[2, 0], [0, 4]]).to_sparse(), torch.tensor([2, 4])).dtype
        == torch.float64
    )


def test_what_is_refused(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 6, "real")))
    solver, v, b = (
        mt.Solver(A, lower=True),
        torch.tensor(A.data),
        torch.ones(6, dtype=torch.float64),
    )
    for call, error, words in (
        (lambda: mt.solve(torch.eye(3), b), TypeError, "sparse_csr"),
        (lambda: mt.solve(torch.eye(3).to_sparse_csc().requires_grad_(), b[:3]), TypeError, "csc"),
        (lambda: mt.solve(torch.ones(2, 3).to_sparse(), b), ValueError, "not square"),
        (lambda: mt.solve(torch.ones(2, 2, 2).to_sparse(), b), ValueError, "batch"),
        (lambda: mt.Solver(np.eye(3)), TypeError, "sparse"),
        (lambda: mt.Solver(A), pymetapack.PatternError, "lower"),
        (lambda: solver.solve(v[1:], b), pymetapack.PatternError, "fits the pattern"),
        (lambda: solver.solve(v, b[1:]), ValueError, "right-hand side"),
        (lambda: solver.solve(v, b[0]), ValueError, "number"),
        (lambda: solver.solve(v, b.numpy()), TypeError, "tensor"),
        (lambda: solver.solve(v.to(torch.bfloat16), b), TypeError, "bfloat16"),
        (lambda: solver.solve(v.to("meta"), b), TypeError, "lies on meta"),
        (lambda: solver.solve(v * torch.nan, b), pymetapack.InputError, "NaN|nan|finite"),
        (lambda: solver.solve(v, b * torch.inf), pymetapack.InputError, "."),
        (lambda: mt.Solver(A, lower=True, orderin="amd").solve(v, b), TypeError, "ordering"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    assert torch.allclose(solver.solve(v, b), solver.solve(v, b))  # still well


def test_singular():
    values, b = torch.ones(3, dtype=torch.float64, requires_grad=True), torch.ones(
        2, dtype=torch.float64
    )
    solver = mt.Solver(sp.csc_matrix(np.tril(np.ones((2, 2)))), lower=True)
    with pytest.warns(pymetapack.ZeroPivotWarning):
        x = solver.solve(values, b)
    assert torch.isclose(x.sum(), torch.tensor(1.0, dtype=torch.float64))
    with pytest.raises(pymetapack.SingularMatrixError, match="derivative"):
        x.sum().backward()
    with pytest.raises(pymetapack.SingularMatrixError, match="inconsistent"):
        solver.solve(values, torch.tensor([1.0, 0], dtype=torch.float64))
    log = solver.logdet(values)
    assert log.item() == -np.inf
    with pytest.raises(pymetapack.SingularMatrixError):
        log.backward()
    strict = mt.Solver(sp.csc_matrix(np.tril(np.ones((2, 2)))), lower=True, singular="raise")
    with pytest.raises(pymetapack.SingularMatrixError):
        strict.solve(values, b)


@pytest.mark.parametrize("name", ["solve", "logdet"])
def test_forward_mode_twice_is_no_zero(rng, name):
    """PyTorch would give 0 for the second derivative, without a word."""
    A = sp.csc_matrix(np.tril(regular(rng, 5, "real")))
    solver, b = mt.Solver(A, lower=True), torch.ones(5, dtype=torch.float64)
    f = {"solve": lambda v: solver.solve(v, b).sum(), "logdet": solver.logdet}[name]
    v, func = torch.tensor(A.data), torch.func
    with pytest.raises(pymetapack.UnsupportedError, match="hessian"):
        func.jacfwd(func.jacfwd(f))(v)
    with pytest.raises(pymetapack.UnsupportedError, match="jacrev"):
        func.jvp(lambda v: func.jvp(f, (v,), (v,))[1], (v,), (v,))
    for twice in (func.hessian(f), func.jacrev(func.jacfwd(f))):
        torch.testing.assert_close(twice(v), func.jacrev(func.jacrev(f))(v))


def test_threads(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 20, "real")))
    solver, b = mt.Solver(A, lower=True, threads=1), torch.ones(20, dtype=torch.float64)
    want, wrong = {}, []

    def gradient(k):
        v = (torch.tensor(A.data) * k).requires_grad_()
        (solver.solve(v, b).sum() + solver.logdet(v)).backward()
        return v.grad

    for k in range(1, 5):
        want[k] = gradient(float(k))

    def work(seed):
        for k in np.random.default_rng(seed).integers(1, 5, 25):
            if not torch.allclose(gradient(float(k)), want[int(k)]):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_no_memory_is_lost(rng):
    A = sp.csc_matrix(np.tril(regular(rng, 40, "real")))
    solver, b = mt.Solver(A, lower=True), torch.ones(40, dtype=torch.float64)
    v = torch.tensor(A.data, requires_grad=True)

    def steps(count):
        for k in range(count):
            (
                solver.solve(v * (1 + 1e-3 * k), b).sum() + solver.logdet(v * (1 + 1e-3 * k))
            ).backward()
        gc.collect()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps(300)
        before = resident()
        steps(1000)
    assert resident() - before < 4e6


@pytest.mark.parametrize("name, arguments", [("qp_layer", (8, 4)), ("topology", (20, 10, 30))])
def test_the_examples(name, arguments):
    runpy.run_path(str(ROOT / f"plugins/python/examples/{name}.py"))["main"](*arguments)


def test_a_copy_has_the_pattern(rng):
    A = sp.coo_matrix(np.tril(regular(rng, 8, "real")))
    solver, b = mt.Solver(A, lower=True, refine=0), torch.ones(8, dtype=torch.float64)
    v = torch.tensor(A.data)
    for other in (copy.deepcopy(solver), pickle.loads(pickle.dumps(solver))):
        assert (
            torch.allclose(other.solve(v, b), solver.solve(v, b))
            and other._factors.options["refine"] == 0
        )


def test_without_entries():
    solver, v = mt.Solver(sp.csc_matrix((0, 0))), torch.zeros(0, requires_grad=True)
    (solver.solve(v, v).sum() + solver.logdet(v)).backward()
    assert v.grad.shape == (0,)


def test_many_side_by_side():
    """A batch goes through ldl_batch, with the same gradients; a singular one among them, one by one."""
    rng = np.random.default_rng(11)
    h, c = sp.eye(7), sp.csr_array(rng.standard_normal((3, 7)))
    A = sp.csc_matrix(sp.tril(sp.bmat([[h, c.T], [c, None]])))
    solver = pymetapack.torch.Solver(A, lower=True)
    values = torch.tensor(A.data * (1 + 0.1 * rng.random((5, A.nnz))), requires_grad=True)
    b = torch.tensor(rng.standard_normal((5, 10, 2)), requires_grad=True)
    assert torch.autograd.gradcheck(solver.solve, (values, b))
    assert torch.autograd.gradgradcheck(solver.solve, (values, b[..., :1]))
    assert solver._factors._many is not None and not solver._factors._known
    each = torch.stack([solver.solve(v, y) for v, y in zip(values, b)])
    assert float((solver.solve(values, b) - each).abs().max()) < 1e-12
    jacobian = torch.func.vmap(torch.func.jacrev(lambda v, y: solver.solve(v, y).sum()))(values, b)
    assert jacobian.shape == values.shape
    with torch.no_grad():
        bad = values.clone()
        bad[3] = 0
    with pytest.warns(pymetapack.ZeroPivotWarning):
        x = solver.solve(bad, torch.zeros(5, 10, 2, dtype=torch.float64))
    assert float(x.abs().max()) == 0
