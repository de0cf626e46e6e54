# SPDX-License-Identifier: BSD-3-Clause
"""A caller's stream, and a caller's pool of device memory, for what is made from then on."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Tuple

from ._lib import ffi, lib

__all__ = ["use_allocator", "use_cupy_allocator", "use_default_allocator", "use_stream",
           "use_torch_allocator"]  # fmt: skip

_Alloc = Callable[[int, int, int], int]  # bytes, GPU, stream: the address; 0: none left
_Release = Callable[[int, int, int, int], None]  # address, bytes, GPU, stream

_pool: Optional[Tuple[_Alloc, _Release]] = None
_stream: Optional[Any] = None  # or what gives one; None: the whole GPU is waited for


@ffi.callback("void *(void *, size_t, int, void *)")  # type: ignore[untyped-decorator]
def _alloc(user: Any, size: int, number: int, stream: Any) -> Any:
    alloc = ffi.from_handle(user)[0]
    try:
        return ffi.cast("void *", alloc(size, number, int(ffi.cast("uintptr_t", stream))))
    except Exception:  # out of memory, in the pool's own words
        return ffi.NULL


@ffi.callback("void (void *, void *, size_t, int, void *)")  # type: ignore[untyped-decorator]
def _release(user: Any, ptr: Any, size: int, number: int, stream: Any) -> None:
    release = ffi.from_handle(user)[1]
    release(int(ffi.cast("uintptr_t", ptr)), size, number, int(ffi.cast("uintptr_t", stream)))


def _address(stream: Any) -> int:
    """Of a cudaStream_t: a number, or an object of PyTorch's, CuPy's, or of the stream protocol."""
    if isinstance(stream, int):
        return stream
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return int((protocol() if callable(protocol) else protocol)[1])
    for name in ("cuda_stream", "ptr", "handle"):
        value = getattr(stream, name, None)
        if value is not None:
            return int(value)
    raise TypeError(f"{type(stream).__module__}.{type(stream).__qualname__} is no CUDA stream")


def prepare(context: Any, number: int) -> None:
    """Give a context what was chosen here, before it takes memory of GPU `number`."""
    if _pool is not None:
        handle = ffi.new_handle(_pool)
        allocator = ffi.new("mpk_device_allocator *", (_alloc, _release, handle))
        context.check(context.call(lib.mpk_device_set_allocator, number, allocator))
        context.keep = handle  # as long as it may be called
    if _stream is not None:
        context.check(context.call(lib.mpk_device_set_stream, number, ffi.cast("void *", _address(_stream))))


def use_stream(stream: Optional[Any]) -> None:
    """Order the calls of factors on a GPU that are made from now on in this stream.

    stream : a cudaStream_t as a number, a stream of PyTorch's or CuPy's, an object with
        ``__cuda_stream__``; None: calls wait until the whole GPU is at rest, as at first

    What was queued in it before a call is done before the call reads; a call returns when its results
    are there.  The stream must live as long as the factors.
    """
    global _stream
    if stream is not None:
        _address(stream)
    _stream = stream


def use_default_allocator() -> None:
    """Device memory comes from CUDA again, for factors made from now on."""
    global _pool
    _pool = None


def use_torch_allocator() -> None:
    """Device memory of factors made from now on comes from PyTorch's caching allocator."""
    import torch

    def alloc(size: int, number: int, stream: int) -> int:
        return int(torch.cuda.caching_allocator_alloc(size, number, stream))

    def release(ptr: int, size: int, number: int, stream: int) -> None:
        torch.cuda.caching_allocator_delete(ptr)

    global _pool
    _pool = (alloc, release)


def use_cupy_allocator() -> None:
    """Device memory of factors made from now on comes from CuPy's current allocator, a pool unless it was
    changed."""
    import cupy

    held: Dict[int, Any] = {}

    def alloc(size: int, number: int, stream: int) -> int:
        with cupy.cuda.Device(number), cupy.cuda.ExternalStream(stream):
            memory = cupy.cuda.alloc(size)
        held[int(memory.ptr)] = memory
        return int(memory.ptr)

    def release(ptr: int, size: int, number: int, stream: int) -> None:
        memory = held.pop(ptr)
        with cupy.cuda.Device(number), cupy.cuda.ExternalStream(stream):
            del memory

    global _pool
    _pool = (alloc, release)


def use_allocator(alloc: Callable[[int, int, int], int],
                  release: Callable[[int, int, int, int], None]) -> None:  # fmt: skip
    """Device memory of factors made from now on comes from these functions.

    alloc : (bytes, GPU, stream) to the address of so many bytes, aligned to 256; 0 or an exception where
        there are none, which makes the call a MemoryLimitError
    release : (address, bytes, GPU, stream), when all work with them is done

    The stream is a cudaStream_t, as a number.  Both must last as long as the factors.
    """
    global _pool
    if not (callable(alloc) and callable(release)):
        raise TypeError("alloc and release are functions")
    _pool = (alloc, release)
