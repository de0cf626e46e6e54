# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in a GPU's memory: whose they are, where they lie, what comes back."""

import sys

import gpu
import numpy as np
import pytest
import scipy.sparse as sp
from support import ROOT, symmetric

import pymetapack as mp
from pymetapack import _device

pytestmark = pytest.mark.skipif(not gpu.there, reason="METAPACK_CUDA_HOST names no module")

N = 30


@pytest.fixture(autouse=True)
def module(monkeypatch):
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)


@pytest.fixture
def cupy(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", gpu.cupy())
    return sys.modules["cupy"]


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def regular(rng, dtype=np.float64, hermitian=False):
    return symmetric(rng, N, dtype, hermitian) + N * np.diag((-1.0) ** np.arange(N)).astype(dtype)


def pattern_of(a):
    return (a != 0).astype(a.dtype)


def on_gpu(factor, monkeypatch, forbid=True):
    """The factor believes to be on the GPU: pointers go to the library as they are.  The processor's
    engine can read them, since the memory is the host's."""
    factor._gpu = 0
    if forbid:

        def copy(self, lent, to, from_):
            raise AssertionError("a copy through the host")

        monkeypatch.setattr(_device.Link, "_copy", copy)


MAKERS = {
    "interface 3": gpu.Plain,
    "interface 2": lambda x, order="C": gpu.Plain(x, order, version=2),
    "no stream": lambda x, order="C": gpu.Plain(x, order, stream=None),
    "DLPack": gpu.Packed,
    "cupy": lambda x, order="C": gpu.ndarray(gpu.moved(x, order)),
}


@pytest.fixture(params=MAKERS)
def make(request, cupy):
    return MAKERS[request.param]


# ---- which there are -----------------------------------------------------------------------------


def test_devices():
    found = mp.devices()
    assert found.reason == "" and len(found) == 1
    assert found[0].number == 0 and found[0].name == "host"
    assert 0 < found[0].free_bytes <= found[0].total_bytes


# ---- solve ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("shape", [(N,), (N, 1), (N, 3), (N, 0)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_solve(rng, make, shape, order, direct, monkeypatch):
    b = rng.standard_normal(shape)
    factor = mp.ldl(regular(rng))
    expected = factor.solve(b)
    there = make(b, order)
    if direct:
        wide = len(shape) == 2 and shape[1] > 1 and order == "C"
        on_gpu(factor, monkeypatch, forbid=not (wide and not isinstance(there, gpu.ndarray)))
    x = factor.solve(there)
    assert type(x) is type(there)
    assert np.array_equal(x.get(), expected)
    assert np.array_equal(there.get(), b)
    for flag in ("C_CONTIGUOUS", "F_CONTIGUOUS"):
        assert not there.view.flags[flag] or x.view.flags[flag]
    assert factor.stats()["solve"]["componentwise"] <= 1e-14


@pytest.mark.parametrize("direct", [False, True])
def test_solve_into_out(rng, make, direct, monkeypatch):
    b = rng.standard_normal((N, 2))
    factor = mp.ldl(regular(rng))
    expected = factor.solve(b)
    there, out = make(b, "F"), make(np.zeros((N, 2)), "F")
    if direct:
        on_gpu(factor, monkeypatch)
    pointer = out.view.__array_interface__["data"]
    assert factor.solve(there, out=out) is out
    assert np.array_equal(out.get(), expected)
    assert out.view.__array_interface__["data"] == pointer
    assert factor.solve(there, out=there) is there
    assert np.array_equal(there.get(), expected)


def test_out_by_rows(rng, make):
    b = rng.standard_normal((N, 2))
    factor = mp.ldl(regular(rng))
    out = make(np.zeros((N, 2)))
    factor.solve(make(b, "F"), out=out)
    assert np.array_equal(out.get(), factor.solve(b))


@pytest.mark.parametrize("direct", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
def test_types(rng, make, dtype, direct, monkeypatch):
    a = regular(rng, dtype)
    b = (rng.standard_normal(N) + (1j * rng.standard_normal(N) if a.dtype.kind == "c" else 0)).astype(dtype)
    factor = mp.ldl(a)
    expected = factor.solve(b)
    there = make(b)
    if direct:
        on_gpu(factor, monkeypatch)
    x = factor.solve(there)
    assert x.view.dtype == dtype and np.array_equal(x.get(), expected)


@pytest.mark.parametrize("kind", [np.int32, np.float32, np.complex128])
def test_other_types(rng, cupy, kind, monkeypatch):
    """Cast by who can; who cannot makes no array of another type."""
    b = (10 * rng.standard_normal(N)).astype(kind)
    factor = mp.ldl(regular(rng))
    expected = factor.solve(b)
    for direct in (False, True):
        if direct:
            on_gpu(factor, monkeypatch, forbid=kind is not np.complex128)
        x = factor.solve(MAKERS["cupy"](b))
        assert x.view.dtype == expected.dtype and np.array_equal(x.get(), expected)
    if kind is np.complex128:
        assert np.array_equal(factor.solve(gpu.Plain(b)).get(), expected)
        return
    factor._gpu = None
    monkeypatch.undo()
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)
    with pytest.raises(TypeError, match="give out, or b in that dtype"):
        factor.solve(gpu.Plain(b))
    out = gpu.Plain(np.zeros(N))
    assert np.array_equal(factor.solve(gpu.Plain(b), out=out).get(), expected)


def test_array_namespace(rng):
    """An array that copies itself only in the standard's way."""

    class Standard(gpu.Bare):
        def __array_namespace__(self):
            class space:
                float64 = np.float64

                @staticmethod
                def empty_like(x, dtype):
                    return Standard(np.zeros(x.view.shape, dtype))

            return space

    b = rng.standard_normal(N)
    factor = mp.ldl(regular(rng))
    x = factor.solve(Standard(b))
    assert type(x) is Standard and np.array_equal(x.get(), factor.solve(b))
    with pytest.raises(TypeError, match="give out"):
        factor.solve(gpu.Bare(b))
    out = gpu.Bare(np.zeros(N))
    assert factor.solve(gpu.Bare(b), out=out) is out
    assert np.array_equal(out.get(), factor.solve(b))


def test_work_in_a_stream_is_waited_for(rng, make, monkeypatch):
    """What is queued on the device when solve is called has happened when b is read."""
    b = rng.standard_normal(N)
    factor = mp.ldl(regular(rng))
    there = make(np.zeros(N))

    def work():
        there.view[...] = b

    keep = gpu.queue(work)
    assert np.array_equal(factor.solve(there).get(), factor.solve(b))
    assert keep is not None


@pytest.mark.parametrize("direct", [False, True])
def test_bare_solve(rng, make, direct, monkeypatch):
    b = rng.standard_normal(N)
    factor = mp.ldl(regular(rng))
    expected = factor.solve(b, refine=0)
    there = make(b)
    if direct:
        on_gpu(factor, monkeypatch, forbid=isinstance(there, gpu.ndarray))
    x = factor.solve(there, refine=0)
    assert type(x) is type(there) and np.array_equal(x.get(), expected)
    assert np.array_equal(there.get(), b)
    assert np.isnan(factor.stats()["solve"]["componentwise"])
    out = make(np.zeros(N))
    on_gpu(factor, monkeypatch, forbid=False)
    monkeypatch.undo()
    factor._gpu = None
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)
    monkeypatch.setitem(sys.modules, "cupy", gpu.cupy())
    assert factor.solve(there, out=out, refine=0) is out
    assert np.array_equal(out.get(), expected)


def test_overflow_in_a_bare_solve(rng, cupy, monkeypatch):
    """The checked solve finds out why, there too."""
    factor = mp.ldl(np.diag([1e-200, 1.0]))
    factor._gpu = 0
    b = np.array([1e200, 1.0])
    for there in (gpu.Plain(b), MAKERS["cupy"](b)):
        with pytest.raises(mp.NumericError):
            factor.solve(there, refine=0)


# ---- wrong arrays --------------------------------------------------------------------------------


def test_wrong_arrays(rng):
    factor = mp.ldl(regular(rng))
    b = rng.standard_normal(N)

    def changed(**what):
        array = gpu.Plain(b)
        kept = dict(array.__cuda_array_interface__, **what)
        return type("Changed", (), {"__cuda_array_interface__": kept, "array": array})()

    for bad, error, words in (
        (changed(version=1), TypeError, "version 1"),
        (changed(mask=gpu.Plain(b)), TypeError, "mask"),
        (changed(stream=0), ValueError, "stream 0"),
        (changed(typestr=">f8"), TypeError, "other order"),
        (changed(typestr="<f2", shape=(N,)), TypeError, "float16"),
        (changed(shape=(N - 1,)), ValueError, "shape"),
        (changed(shape=(N, 1, 1)), ValueError, "shape"),
        (changed(shape=(N // 2,), strides=(16,)), ValueError, "shape"),
        (gpu.Packed(b, number=1), mp.DeviceError, "device 1"),
    ):
        with pytest.raises(error, match=words):
            factor.solve(bad)
    gaps = gpu.Plain(np.repeat(b, 2))
    gaps.view = gaps.view[::2]
    with pytest.raises(TypeError, match="gaps.*contiguous copy"):
        factor.solve(gaps)
    host = changed(data=(b.__array_interface__["data"][0], False))
    with pytest.raises(mp.ArgumentError, match="CUDA device 0"):  # a pointer that is the host's
        factor.solve(host, out=gpu.Plain(b))
    for out, error, words in (
        (np.zeros(N), TypeError, "out must lie on the GPU"),
        (gpu.Plain(np.zeros(N + 1)), ValueError, "out is"),
        (gpu.Plain(np.zeros(N, np.float32)), ValueError, "out is"),
        (changed(data=(8, True)), ValueError, "read-only"),
    ):
        with pytest.raises(error, match=words):
            factor.solve(gpu.Plain(b), out=out)
    with pytest.raises(TypeError, match="out must be a NumPy array"):
        factor.solve(b, out=gpu.Plain(b))
    with pytest.raises(mp.InputError, match="not finite"):
        factor.solve(gpu.Plain(np.full(N, np.nan)))


def test_wrong_gpu(rng):
    factor = mp.ldl(regular(rng))
    factor._gpu = 0
    for call in (lambda: factor.solve(gpu.Packed(np.ones(N), number=1)),
                 lambda: factor.refactor(gpu.Packed(np.ones(N), number=1)),
                 lambda: factor.aslinearoperator() @ gpu.Packed(np.ones(N), number=1)):  # fmt: skip
        with pytest.raises(ValueError, match="lies on cuda:1, the factor on cuda:0"):
            call()


def test_no_memory_there(rng, monkeypatch):
    """The device's own allocations are its maker's affair; METAPACK's failures are MemoryErrors."""
    factor = mp.ldl(regular(rng))
    there = gpu.Plain(np.ones(N))
    x = factor.solve(there)
    assert np.array_equal(x.get(), factor.solve(np.ones(N)))


# ---- matrices ------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("maker", ["plain", "cupy"])
def test_sparse(rng, cupy, form, hermitian, maker):
    a = regular(rng, np.complex128, hermitian)
    b = rng.standard_normal(N) + 1j * rng.standard_normal(N)
    build = gpu.Plain if maker == "plain" else gpu._array
    A = gpu.Sparse(sp.csc_matrix(a).asformat(form), build)
    factor = mp.ldl(A, hermitian=hermitian)
    expected = mp.ldl(sp.csc_matrix(a).asformat(form), hermitian=hermitian)
    assert factor.inertia == expected.inertia
    assert np.allclose(a @ factor.solve(b), b)
    assert A.conversions == (form == "coo")
    for direct in (False, True):
        factor._gpu = 0 if direct else None
        factor.refactor(gpu.Sparse(sp.csc_matrix(2 * a).asformat(form), build))
        assert np.allclose(2 * a @ factor.solve(b), b)
        if form != "coo":
            values = build(sp.csc_matrix(3 * a).asformat(form).data)
            factor.refactor(values)
            assert np.allclose(3 * a @ factor.solve(b), b)
        else:
            with pytest.raises(TypeError, match="values alone"):
                factor.refactor(build(np.ones(A.data.view.size, complex)))


def test_pattern_stays_there(rng, cupy, monkeypatch):
    """From the second matrix on neither indices nor values come to the host."""
    a = sp.csr_matrix(regular(rng))
    factor = mp.ldl(gpu.Sparse(a))
    factor.refactor(gpu.Sparse(2 * a))
    on_gpu(factor, monkeypatch)
    factor.refactor(gpu.Sparse(3 * a))
    factor.refactor(gpu._array((4 * a).data))
    b = rng.standard_normal(N)
    assert np.allclose(4 * a @ factor.solve(gpu._array(b)).get(), b)


def test_other_patterns(rng, cupy):
    a = regular(rng)
    factor = mp.ldl(gpu.Sparse(sp.csr_matrix(a)))
    more = a.copy()
    i, j = np.argwhere(a == 0)[0]
    more[i, j] = more[j, i] = 1
    b = rng.standard_normal(N)
    with pytest.raises(mp.PatternError, match="pattern"):
        factor.refactor(gpu.Sparse(sp.csr_matrix(more)))
    with pytest.raises(mp.PatternError, match="shape"):
        factor.refactor(gpu.Sparse(sp.csr_matrix(np.eye(N + 1))))
    with pytest.raises(mp.PatternError, match="values for a pattern"):
        factor.refactor(gpu._array(np.ones(3)))
    with pytest.raises(TypeError, match="complex128"):
        factor.refactor(gpu.Sparse(sp.csr_matrix(a.astype(complex))))
    assert np.allclose(a @ factor.solve(b), b)
    factor.refactor(gpu.Sparse(sp.csc_matrix(2 * a)))  # the same pattern, stored otherwise
    assert np.allclose(2 * a @ factor.solve(b), b)
    factor.refactor(gpu._array(3 * a))  # dense
    assert np.allclose(3 * a @ factor.solve(b), b)
    factor.refactor(sp.csr_matrix(4 * a))  # from the host
    assert np.allclose(4 * a @ factor.solve(b), b)
    with pytest.raises(mp.InputError):
        factor.refactor(gpu._array(np.full(sp.csr_matrix(a).nnz, np.nan)))


def test_dense_matrix(rng, make):
    a = regular(rng)
    assert mp.ldl(make(a)).inertia == mp.ldl(a).inertia


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_one_dense_matrix(rng, make, dtype):
    a = regular(rng).astype(dtype)
    b = rng.standard_normal((N, 3)).astype(dtype)
    near = {"atol": 1e-2 if dtype in ("f4", "c8") else 1e-8}
    try:
        factor = mp.ldl_dense(make(a))
    except mp.DeviceError as error:
        if "without dense" in str(error):
            pytest.skip("dense matrices: on a GPU alone")
        raise
    assert factor.inertia == mp.ldl_dense(a).inertia
    x = factor.solve(make(b))
    assert type(x) is type(make(b)) and np.allclose(a @ x.get(), b, **near)
    assert isinstance(factor.solve(b), np.ndarray)
    assert np.allclose(a @ mp.solve_dense(make(a), make(b)).get(), b, **near)
    assert np.allclose(a @ mp.solve_dense(a, b, device="cuda"), b, **near)
    assert factor.factors.shape == (N, N) and factor.pivots.shape == (N,)


def test_general(rng, cupy):
    a = sp.csr_matrix(regular(rng) + np.triu(rng.standard_normal((N, N)), 1))
    b = rng.standard_normal(N)
    for form in ("csr", "csc"):
        factor = mp.ldu(gpu.Sparse(a.asformat(form)))
        assert np.allclose(a @ factor.solve(gpu._array(b)).get(), b)
        factor.refactor(gpu.Sparse((2 * a).asformat(form)))
        assert np.allclose(2 * a @ factor.solve(b), b)


def test_spsolve(rng, make):
    a, b = regular(rng), rng.standard_normal(N)
    for A in (a, make(a)):
        for options in ({}, {"method": "ldlt"}, {"method": "ildlt"}):
            x = mp.spsolve(A, make(b), **options)
            assert type(x) is type(make(b)) and np.allclose(a @ x.get(), b)
            assert isinstance(mp.spsolve(A, b, **options), np.ndarray)


def test_incomplete(rng, make):
    a = mp.generate("optimal-control 100")
    b = rng.standard_normal(a.shape[0])
    factor = mp.ildl(a, level=2)
    assert np.allclose(factor.solve(make(b), tolerance=1e-10).get(), factor.solve(b, tolerance=1e-10))


# ---- operators -----------------------------------------------------------------------------------


@pytest.mark.parametrize("direct", [False, True])
def test_operators(rng, make, direct, monkeypatch):
    a = regular(rng, np.complex128, True)
    b = rng.standard_normal(N) + 1j * rng.standard_normal(N)
    factor = mp.ldl(a, hermitian=True)
    there = make(b)
    if direct:
        on_gpu(factor, monkeypatch, forbid=isinstance(there, gpu.ndarray))
    for op in (factor.aslinearoperator(), factor.aslinearoperator("always"),
               factor.aspreconditioner()):  # fmt: skip
        for x in (op @ there, op.matvec(there), op(there), op.matmat(there), op.rmatvec(there)):
            assert type(x) is type(there)
            assert np.allclose(a @ x.get(), b)
    assert np.allclose(factor.aspreconditioner(abs=True).matvec(there).get(),
                       factor.aspreconditioner(abs=True) @ b)  # fmt: skip
    transposed = factor.aslinearoperator().T
    if isinstance(there, gpu.ndarray):
        assert np.allclose(a.T @ (transposed @ there).get(), b)
    else:
        with pytest.raises(TypeError, match="no conjugate"):
            transposed @ there


# ---- the place -----------------------------------------------------------------------------------


def test_place(rng, cupy):
    """A factor for the device is on it, or is refused by name; auto says where it is."""
    a = regular(rng)
    for A in (a, gpu.Sparse(sp.csr_matrix(a))):
        assert mp.ldl(A, device="auto").engine.startswith("cpu-")  # far too small to gain
        assert mp.ldl(A, device="cpu").engine.startswith("cpu-")
        assert mp.ldl(A).engine.startswith("cpu-")
        for make in (mp.ldl, mp.ildl):
            try:
                factor = make(A, device="cuda")
            except mp.UnsupportedError as error:
                assert "does not run on a device" in str(error)
                continue
            assert factor.engine == "cuda: host" and factor.stats()["engine"] == factor.engine
            b = rng.standard_normal(N)
            x = factor.solve(gpu._array(b))
            assert isinstance(x, gpu.ndarray) and np.allclose(a @ x.get(), b)
            factor.refactor(gpu.Sparse(sp.csr_matrix(2 * a)))
            assert np.allclose(2 * a @ factor.solve(b), b)
        with pytest.raises(mp.DeviceError, match="1"):
            mp.ldl(A, device="cuda:1")
    elsewhere = gpu.Sparse(sp.csr_matrix(a), lambda x: gpu.Packed(x, number=1))
    with pytest.raises(mp.DeviceError, match="1"):
        mp.ldl(elsewhere)


# ---- the check for a GPU, without one ---------------------------------------------------------------


class Fake:
    """What device_check.py has of CuPy, by the stand-in."""

    name = "stand-in"

    def array(self, x, order="C"):
        return gpu.ndarray(gpu.moved(x, order))

    def host(self, x):
        assert isinstance(x, gpu.ndarray)
        return x.get()

    def matrix(self, a, form):
        return gpu.Sparse(a.asformat(form))

    def values(self, A):
        return A.data

    def by_columns(self, x):
        return x.flags.f_contiguous

    def by_rows(self, x):
        return x.flags.c_contiguous

    def busy(self, x):
        late = gpu.ndarray(gpu.moved(np.zeros_like(x.view)))

        def work():
            late.view[...] = x.view

        return late, gpu.queue(work)


@pytest.mark.parametrize("method", ["ldlt", "ildlt"])
def test_check_for_a_gpu(cupy, method):
    import device_check

    def make(A, device):
        return (mp.ldl if method == "ldlt" else mp.ildl)(A, device=device)

    places = ["cpu"]
    try:
        make(device_check.matrix(3, np.float64), "cuda")
        places.append("cuda")
    except mp.UnsupportedError:
        pass
    for place in places:
        for dtype in device_check.DTYPES:
            for form in ("csr", "csc", "coo"):
                device_check.loop(Fake(), 4, dtype, form, make, place, method != "ldlt")
        device_check.streams(Fake(), 4, make, place)
        device_check.operators(Fake(), 4, make, place)
    device_check.refusals(Fake(), 4)


def test_example(cupy, monkeypatch, capsys):
    """On the host; device_check.py and the example itself are for a GPU."""
    import importlib.util

    monkeypatch.delitem(sys.modules, "cupy")
    path = ROOT / "plugins/python/examples/device.py"
    spec = importlib.util.spec_from_file_location("device_example", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    monkeypatch.setattr(example, "arrays", lambda: (np, sp))
    example.main(200)
    assert "cpu-" in capsys.readouterr().out
    monkeypatch.setenv("METAPACK_CUDA_MODULE", "/nowhere")
    with pytest.raises(mp.DeviceError):
        example.main(200, "cuda")


# ---- PyTorch, where it is installed --------------------------------------------------------------


def torch_there():
    """Tensors that say that they lie on a GPU; their memory is the host's."""
    torch = pytest.importorskip("torch")

    class There(torch.Tensor):
        is_cuda = True

    return torch, lambda x: torch.as_tensor(np.ascontiguousarray(x)).as_subclass(There)


def host(x):
    return x.detach().resolve_conj().numpy().copy()


def test_torch_tensors(rng, monkeypatch):
    torch, make = torch_there()
    a = regular(rng, np.complex128, True)
    factor = mp.ldl(a, hermitian=True)
    on_gpu(factor, monkeypatch)
    for shape in ((N,), (N, 3)):
        b = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
        expected = factor.solve(b)
        for there in (make(b), make(b.conj()).conj(), make(b.T.copy()).t() if b.ndim == 2 else make(b)):
            x = factor.solve(there)
            assert isinstance(x, torch.Tensor) and x.stride() == there.stride()
            assert np.array_equal(host(x), expected)
            out = make(np.zeros_like(b))
            assert factor.solve(there, out=out) is out and np.array_equal(host(out), expected)
            assert np.allclose(host(factor.solve(there, refine=0)), expected)
            op = factor.aslinearoperator()
            assert np.allclose(host(op @ there), expected)
            assert np.allclose(a.T @ host(op.T @ there), b)
    with pytest.raises(TypeError, match="detach"):
        factor.solve(make(np.ones(N)).requires_grad_())
    with pytest.raises(TypeError, match="bfloat16"):
        factor.solve(make(np.ones(N)).to(torch.bfloat16))
    assert np.allclose(a @ host(factor.solve(make(np.arange(N)))), np.arange(N))


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_torch_sparse(rng, layout):
    """PyTorch's sparse tensors, on the host: SciPy's would give the same."""
    torch = pytest.importorskip("torch")
    a = regular(rng)
    name = {"csr": "to_sparse_csr", "csc": "to_sparse_csc", "coo": "to_sparse"}[layout]

    def tensor(a):
        return getattr(torch.as_tensor(a), name)()

    t = tensor(a)
    factor = mp.ldl(t)
    b = rng.standard_normal(N)
    assert np.array_equal(factor.solve(b), mp.ldl(sp.csc_matrix(a)).solve(b))
    factor.refactor(tensor(2 * a))
    assert np.allclose(2 * a @ factor.solve(b), b)
    assert np.allclose(a @ mp.spsolve(t, b), b)
    assert np.allclose(a @ mp.ldu(t).solve(b), b)
    if layout != "coo":
        factor.refactor(tensor(3 * a).values().numpy())
        assert np.allclose(3 * a @ factor.solve(b), b)
    with pytest.raises(TypeError, match="layout"):
        mp.ldl(torch.as_tensor(a).to_sparse_bsr((2, 2)))
