# SPDX-License-Identifier: BSD-3-Clause
"""A caller's stream and a caller's pool, on the module that has no GPU."""

import ctypes

import gpu
import numpy as np
import pytest

import pymetapack as mp

pytestmark = pytest.mark.skipif(not gpu.there, reason="METAPACK_CUDA_HOST names no module")


@pytest.fixture(autouse=True)
def module(monkeypatch):
    monkeypatch.setenv("METAPACK_CUDA_MODULE", gpu.MODULE)
    yield
    mp.use_stream(None)
    mp.use_default_allocator()


def test_allocator():
    held = {}

    def alloc(size, number, stream):
        assert number == 0 and size > 0
        p = gpu.module.host_device_alloc(size)
        held[p] = size
        return p

    def release(p, size, number, stream):
        assert held.pop(p) == size
        gpu.module.host_device_free(p)

    A = np.diag([1.0, -2, 4])
    mp.use_allocator(alloc, release)
    F = mp.ldl(A, device="cuda")
    assert held and F.engine.startswith("cuda")
    assert np.allclose(F.solve([1.0, -2, 4]), 1)
    F.close()
    assert not held
    mp.use_allocator(lambda *_: 0, release)
    with pytest.raises(mp.MemoryLimitError):
        mp.ldl(A, device="cuda")

    def broken(*_):
        raise RuntimeError("no pool")

    mp.use_allocator(broken, release)
    with pytest.raises(mp.MemoryLimitError):
        mp.ldl(A, device="cuda")
    mp.use_default_allocator()
    assert mp.ldl(A, device="cuda").engine.startswith("cuda")
    with pytest.raises(TypeError):
        mp.use_allocator(alloc, None)


class Torch:
    cuda_stream = 64


class Cupy:
    ptr = 64


class Protocol:
    def __cuda_stream__(self):
        return 0, 64


@pytest.mark.parametrize("stream", [64, Torch(), Cupy(), Protocol()])
def test_stream(stream):
    """Values that come with work of the stream are waited for, and another stream's are not."""
    A = np.diag([1.0, -2, 4])
    mp.use_stream(stream)
    F = mp.ldl(A, device="cuda")
    b = gpu.Plain(np.zeros(3))
    done = []
    queue = gpu.module.host_device_queue_in
    queue.argtypes = [ctypes.c_void_p, gpu.WORK, ctypes.c_void_p]

    def work(_):
        done.append(1)
        b.view[...] = [1, -2, 4]

    call = gpu.WORK(work)
    queue(64, call, None)
    out = gpu.Plain(np.zeros(3))
    F.solve(b, out=out)
    assert done and np.allclose(out.view, 1)
    queue(128, call, None)
    F.solve(b, out=out)
    assert len(done) == 1
    mp.use_stream(128)  # for factors made from now on; what is queued ends while its function lives
    mp.ldl(A, device="cuda").solve(b, out=out)
    assert len(done) == 2
    with pytest.raises(TypeError):
        mp.use_stream("a stream")
