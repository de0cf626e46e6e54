# SPDX-License-Identifier: BSD-3-Clause
"""Arrays in a GPU's memory: which GPUs there are, whose arrays they are, how they get to the library.

CuPy and PyTorch are never imported here: where an array of theirs is, they are.  Everybody else is
known by ``__cuda_array_interface__`` (versions 2 and 3) or DLPack.  No stream is waited for by name:
the library waits until the whole GPU is at rest before it reads, and returns when it has written,
which covers the stream that version 3 of the interface names, and every other one.  After
:func:`use_stream` it waits for that stream alone.
"""

from __future__ import annotations

import ctypes
import sys
from dataclasses import dataclass
from typing import Any, Callable, ContextManager, List, NamedTuple, Optional

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ._context import Context
from ._lib import ffi, lib, text
from ._types import Array, DType

__all__ = ["Device", "Devices", "devices"]

# ---- which there are -----------------------------------------------------------------------------


class Device(NamedTuple):
    """A GPU: ``device=f"cuda:{number}"`` takes it."""

    number: int
    name: str
    text: str
    total_bytes: int
    free_bytes: int


class Devices(List[Device]):
    """A list of GPUs.  ``reason``: why there is none (no module, no driver, too old); else empty."""

    reason: str = ""


def devices() -> Devices:
    """The GPUs that this process sees, opened one after the other: some tenths of a second each.

    Returns
    -------
    Devices
        A list of :class:`Device`; where it is empty its ``reason`` says why.

    >>> import pymetapack
    >>> found = pymetapack.devices()
    >>> bool(found) or bool(found.reason)
    True
    """
    context, found = Context(), Devices()
    info = ffi.new("mpk_device_info *")
    while context.call(lib.mpk_device_info_get, len(found), info) >= 0:
        found.append(Device(len(found), text(info.name), text(info.text), int(info.total_bytes),
                            int(info.free_bytes)))  # fmt: skip
    if not found:
        found.reason = context.message()[2]
    return found


# ---- an array as the library sees it -------------------------------------------------------------


@dataclass
class Lent:
    """Memory of a GPU."""

    pointer: int
    number: Optional[int]  # of the GPU; None: who made it does not say
    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]  # bytes
    readonly: bool
    keep: Any  # what must live as long as the pointer is used

    def _packed(self, order: range) -> bool:
        step = self.dtype.itemsize
        for k in order:
            if self.shape[k] > 1 and self.strides[k] != step:
                return False
            step *= self.shape[k]
        return True

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def rows(self) -> bool:
        """One row after the other?"""
        return self.size == 0 or self._packed(range(len(self.shape) - 1, -1, -1))

    @property
    def columns(self) -> bool:
        """One column after the other, as the library wants it?"""
        return self.size == 0 or self._packed(range(len(self.shape)))

    @property
    def address(self) -> Any:
        """``void *``; NULL for an array without entries."""
        return ffi.cast("void *", self.pointer if self.size else 0)


def _name(x: Any) -> str:
    return f"{type(x).__module__}.{type(x).__qualname__}"


def _row_strides(shape: tuple[int, ...], item: int) -> tuple[int, ...]:
    strides = []
    for extent in reversed(shape):
        strides.append(item)
        item *= max(1, extent)
    return tuple(reversed(strides))


def _from_interface(x: Any, what: str) -> Lent:
    d = x.__cuda_array_interface__
    version = int(d.get("version", 0))
    if version < 2:
        raise TypeError(f"{what} ({_name(x)}) has __cuda_array_interface__ version {version}; "
                        "2 or later is needed")  # fmt: skip
    if d.get("mask") is not None:
        raise TypeError(f"{what} ({_name(x)}) has a mask")
    if d.get("stream") == 0:
        raise ValueError(f"{what} ({_name(x)}): __cuda_array_interface__ forbids stream 0: 1 is the "
                         "legacy default stream, 2 the one of a thread")  # fmt: skip
    dtype = np.dtype(d["typestr"])
    if not dtype.isnative:
        raise TypeError(f"{what} ({_name(x)}) has its bytes in the other order")
    shape = tuple(int(k) for k in d["shape"])
    strides = d.get("strides")
    strides = _row_strides(shape, dtype.itemsize) if strides is None else tuple(map(int, strides))
    pointer, readonly = d["data"]
    return Lent(int(pointer or 0), _number(x), shape, dtype, strides, bool(readonly), x)


class _DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
    ]  # fmt: skip


_DL_CUDA = (2, 13)  # a GPU's memory, managed memory
_DL_KINDS = {0: "i", 1: "u", 2: "f", 5: "c", 6: "b"}


def _dlpack_device(x: Any) -> tuple[int, int]:
    """(kind of memory, number); (0, 0): not said."""
    ask = getattr(x, "__dlpack_device__", None)
    if ask is None:
        return (0, 0)
    kind, number = ask()
    return int(kind), int(number)


def _number(x: Any) -> Optional[int]:
    kind, number = _dlpack_device(x)
    return number if kind == 2 else None


def _from_dlpack(x: Any, what: str) -> Lent:
    capsule = x.__dlpack__(stream=1)  # not renamed: its own destructor gives the array back
    open_ = ctypes.pythonapi.PyCapsule_GetPointer
    open_.restype, open_.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    tensor = ctypes.cast(open_(capsule, b"dltensor"), ctypes.POINTER(_DLTensor)).contents
    kind, item = _DL_KINDS.get(tensor.code), tensor.bits // 8
    if kind is None or tensor.lanes != 1 or tensor.bits % 8:
        raise TypeError(f"{what} ({_name(x)}) has entries of {tensor.bits} bits of kind "
                        f"{tensor.code} in {tensor.lanes} lanes")  # fmt: skip
    shape = tuple(tensor.shape[k] for k in range(tensor.ndim))
    strides = _row_strides(shape, item)
    if tensor.strides:
        strides = tuple(item * tensor.strides[k] for k in range(tensor.ndim))
    return Lent(int(tensor.data or 0) + tensor.byte_offset, tensor.device_id, shape,
                np.dtype(f"{kind}{item}"), strides, False, (x, capsule))  # fmt: skip


# ---- who made it ---------------------------------------------------------------------------------


class Maker:
    """Somebody's arrays.  What is done with them on the GPU is done by whoever made them; None (and
    False of ``assign``): they cannot, and it is done on the host."""

    def lend(self, x: Any, what: str) -> Lent:
        if hasattr(x, "__cuda_array_interface__"):
            return _from_interface(x, what)
        return _from_dlpack(x, what)

    def contiguous(self, x: Any, what: str) -> Any:
        """The same values, by rows or by columns without gaps."""
        lent = self.lend(x, what)
        if lent.rows or lent.columns:
            return x
        raise TypeError(f"{what} ({_name(x)}) has gaps between its entries: give a contiguous copy")

    def columns(self, x: Any, dtype: DType, fresh: bool) -> Optional[Any]:
        """x as dtype, one column after the other; fresh: it is not x itself."""
        lent = self.lend(x, "the array")
        if lent.dtype != dtype or not lent.columns:
            return None
        if not fresh:
            return x
        return x.copy() if hasattr(x, "copy") else None

    def empty(self, x: Any, dtype: DType, by_columns: bool) -> Optional[Any]:
        """A new array of x's shape and place."""
        lent = self.lend(x, "the array")
        space = getattr(x, "__array_namespace__", None)
        made = None
        if lent.dtype == dtype and (lent.columns if by_columns else lent.rows):
            made = x.copy() if hasattr(x, "copy") else None
        if made is None and space is not None and (not by_columns or len(lent.shape) == 1):
            made = space().empty_like(x, dtype=getattr(space(), dtype.name))
        if made is None:
            return None
        lent = self.lend(made, "the array")
        return made if (lent.columns if by_columns else lent.rows) else None

    def by_rows(self, x: Any) -> Optional[Any]:
        return None

    def assign(self, to: Any, x: Any) -> bool:
        return False

    def blank(self, x: Any, rows: Array) -> bool:
        """x[rows] = NaN, where rows is a bool array of the host."""
        return False

    def conj(self, x: Any) -> Optional[Any]:
        return None

    def equal(self, a: Any, b: Any) -> Optional[bool]:
        return None

    def copy(self, x: Any) -> Optional[Any]:
        return None

    def finite(self, x: Any) -> Optional[bool]:
        return None

    def sparse(self, A: Any, general: bool) -> Optional["Parts"]:
        """The parts of a sparse matrix; None: it is dense."""
        form = getattr(A, "format", None)
        if not isinstance(form, str) or not hasattr(A, "data"):
            return None
        given = form == "csc" or (form == "csr" and not general)
        if not given:
            A = A.tocsc()
            form = "csc"
        shape = tuple(int(k) for k in A.shape)
        return Parts(maker_of(A.data), form, given, shape, A.indptr, A.indices, A.data)


class _CuPy(Maker):
    def __init__(self) -> None:
        self.cupy = sys.modules["cupy"]

    def _at(self, x: Any) -> ContextManager[Any]:
        return x.device  # type: ignore[no-any-return]

    def lend(self, x: Any, what: str) -> Lent:
        lent = _from_interface(x, what)
        lent.number = int(x.device.id)
        return lent

    def contiguous(self, x: Any, what: str) -> Any:
        with self._at(x):
            return x if x.flags.f_contiguous else self.cupy.ascontiguousarray(x)

    def columns(self, x: Any, dtype: DType, fresh: bool) -> Optional[Any]:
        with self._at(x):
            make = self.cupy.array if fresh else self.cupy.asarray
            return make(x, dtype=dtype, order="F")

    def empty(self, x: Any, dtype: DType, by_columns: bool) -> Optional[Any]:
        with self._at(x):
            return self.cupy.empty(x.shape, dtype, order="F" if by_columns else "C")

    def by_rows(self, x: Any) -> Optional[Any]:
        with self._at(x):
            return self.cupy.ascontiguousarray(x)

    def assign(self, to: Any, x: Any) -> bool:
        with self._at(to):
            to[...] = x
        return True

    def blank(self, x: Any, rows: Array) -> bool:
        with self._at(x):
            x[self.cupy.asarray(rows)] = np.nan
        return True

    def conj(self, x: Any) -> Optional[Any]:
        with self._at(x):
            return x.conj()

    def equal(self, a: Any, b: Any) -> Optional[bool]:
        with self._at(a):
            return a.shape == b.shape and bool((a == b).all())

    def copy(self, x: Any) -> Optional[Any]:
        with self._at(x):
            return x.copy()

    def finite(self, x: Any) -> Optional[bool]:
        with self._at(x):
            return bool(self.cupy.isfinite(x).all())


class _Torch(Maker):
    def __init__(self) -> None:
        self.torch = sys.modules["torch"]

    def _dtype(self, dtype: DType) -> Any:
        return getattr(self.torch, dtype.name)

    def plain(self, x: Any, what: str) -> Any:
        if x.requires_grad:
            raise TypeError(f"{what} requires grad: give it detached (x.detach())")
        return x.resolve_conj().resolve_neg()

    def lend(self, x: Any, what: str) -> Lent:
        x = self.plain(x, what)
        name = str(x.dtype).partition(".")[2]
        try:
            dtype = np.dtype(name)
        except TypeError:
            raise TypeError(f"{what} has dtype {x.dtype}: float32, float64, complex64 and complex128 "
                            "are solved (integers as float64)") from None  # fmt: skip
        strides = tuple(dtype.itemsize * int(k) for k in x.stride())
        return Lent(int(x.data_ptr()), x.device.index, tuple(x.shape), dtype, strides, False, x)

    @staticmethod
    def _by_columns(x: Any) -> Any:
        return x.t().contiguous().t() if x.dim() == 2 else x.contiguous()

    def contiguous(self, x: Any, what: str) -> Any:
        x = self.plain(x, what)
        return x if x.dim() == 2 and x.t().is_contiguous() else x.contiguous()

    def columns(self, x: Any, dtype: DType, fresh: bool) -> Optional[Any]:
        x = self.plain(x, "the array")
        made = self._by_columns(x.to(self._dtype(dtype)))
        if fresh and made.data_ptr() == x.data_ptr():
            made = self._by_columns(x.clone())
        return made

    def empty(self, x: Any, dtype: DType, by_columns: bool) -> Optional[Any]:
        kind, shape = self._dtype(dtype), tuple(x.shape)
        if by_columns and len(shape) == 2:
            return self.torch.empty(shape[::-1], dtype=kind, device=x.device).t()
        return self.torch.empty(shape, dtype=kind, device=x.device)

    def by_rows(self, x: Any) -> Optional[Any]:
        return x.contiguous()

    def assign(self, to: Any, x: Any) -> bool:
        to.copy_(x)
        return True

    def blank(self, x: Any, rows: Array) -> bool:
        x[self.torch.as_tensor(rows, device=x.device)] = np.nan
        return True

    def conj(self, x: Any) -> Optional[Any]:
        return x.conj().resolve_conj()

    def equal(self, a: Any, b: Any) -> Optional[bool]:
        return bool(self.torch.equal(a, b))

    def copy(self, x: Any) -> Optional[Any]:
        return x.clone()

    def finite(self, x: Any) -> Optional[bool]:
        return bool(self.torch.isfinite(x).all())

    def sparse(self, A: Any, general: bool) -> Optional["Parts"]:
        torch = self.torch
        if A.layout == torch.strided:
            return None
        if A.requires_grad:
            raise TypeError("the matrix requires grad: give it detached (A.detach())")
        if A.dim() != 2:
            raise ValueError(f"the matrix has {A.dim()} dimensions, not 2")
        given = A.layout == torch.sparse_csc or (A.layout == torch.sparse_csr and not general)
        if A.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
            raise TypeError(f"the matrix has layout {A.layout}: sparse_csr, sparse_csc and sparse_coo "
                            "are taken (A.to_sparse_csr())")  # fmt: skip
        if not given:
            A = (A.coalesce() if A.layout == torch.sparse_coo else A).to_sparse_csc()
        if A.layout == torch.sparse_csr:
            form, indptr, indices = "csr", A.crow_indices(), A.col_indices()
        else:
            form, indptr, indices = "csc", A.ccol_indices(), A.row_indices()
        return Parts(self, form, given, tuple(A.shape), indptr, indices, A.values())


@dataclass
class Parts:
    """A sparse matrix in compressed form, its three arrays where they lie."""

    maker: Maker
    form: str  # "csc" | "csr"
    given: bool  # the caller's own form: values alone have a meaning
    shape: tuple[int, ...]
    indptr: Any
    indices: Any
    values: Any


_makers: dict[type, str] = {}


def _family(kind: type) -> str:
    """ "torch", "cupy" or "", by the modules of a type and its bases."""
    found = _makers.get(kind)
    if found is None:
        roots = {base.__module__.partition(".")[0] for base in kind.__mro__}
        found = "torch" if "torch" in roots else "cupy" if "cupy" in roots else ""
        _makers[kind] = found
    return found


def maker_of(x: Any) -> Maker:
    family = _family(type(x))
    if family == "torch":
        return _Torch()
    return _CuPy() if family == "cupy" else Maker()


def is_sparse_tensor(x: Any) -> bool:
    """PyTorch's, on the host or on a GPU?"""
    if isinstance(x, np.ndarray) or _family(type(x)) != "torch":
        return False
    return bool(x.layout != sys.modules["torch"].strided)


def number_of(x: Any) -> Optional[int]:
    """The GPU of an array or a sparse matrix; None: it is not said, or x lies on the host."""
    if not lies_there(x):
        return None
    if _family(type(x)) == "torch":
        return int(x.device.index)
    if _family(type(x)) == "cupy" and hasattr(x, "device"):
        return int(x.device.id)
    if _dlpack_device(x)[0] == 0 and hasattr(getattr(x, "data", None), "__cuda_array_interface__"):
        return number_of(x.data)
    return _number(x)


def conjugate(x: Any) -> Any:
    """The conjugate of an array, wherever it lies."""
    if not lies_there(x):
        return np.conj(x)
    result = maker_of(x).conj(x)
    if result is None:
        raise TypeError(f"{_name(x)} has no conjugate that this operator could use")
    return result


def lies_there(x: Any) -> bool:
    """Is x an array or a sparse matrix in a GPU's memory?"""
    if isinstance(x, (np.ndarray, list, tuple)) or sp.issparse(x):
        return False
    if _family(type(x)) == "torch":
        return bool(x.is_cuda)
    if hasattr(x, "__cuda_array_interface__"):
        return True
    if isinstance(getattr(x, "format", None), str) and hasattr(x, "data"):
        return lies_there(x.data) if x.data is not x else False
    return _dlpack_device(x)[0] in _DL_CUDA


def gpu_of(device: Optional[str], A: Any) -> Optional[int]:
    """Of the GPU that does it; None: the processor."""
    lies = number_of(A) if lies_there(A) else None
    if device is None:
        return (lies or 0) if lies_there(A) else None
    word, _, number = str(device).partition(":")
    if word == "cpu" and not number:
        return None
    if word != "cuda" or (number and not number.isdigit()):
        raise ValueError(f"device {device!r}: 'cpu', 'cuda' and 'cuda:1' are taken")
    if lies is not None and number and int(number) != lies:
        raise ValueError(f"the matrix lies on cuda:{lies}, not on cuda:{number}")
    return int(number) if number else lies or 0


# ---- there and back ------------------------------------------------------------------------------


class Memory:
    """Bytes of a GPU's memory, freed with this object."""

    def __init__(self, context: Context, number: int, bytes_: int) -> None:
        self._context, self._number, self._place = context, number, ffi.new("void **")
        context.check(context.call(lib.mpk_device_alloc, number, bytes_, self._place))

    @property
    def address(self) -> Any:
        """``void *``; NULL where there are no bytes."""
        return self._place[0]

    def _copy(self, to: Any, from_: Any, size: int) -> None:
        if size:
            call = self._context.call
            self._context.check(
                call(lib.mpk_device_copy, self._number, to, size, from_, size, size, 1)
            )

    def put(self, x: Array) -> "Memory":
        """All entries of a NumPy array, in the order in which they lie."""
        self._copy(self.address, ffi.cast("void *", x.__array_interface__["data"][0]), x.nbytes)
        return self

    def fetch(self, x: Array) -> Array:
        """The same back."""
        self._copy(ffi.cast("void *", x.__array_interface__["data"][0]), self.address, x.nbytes)
        return x

    def __del__(self) -> None:
        if getattr(self, "_place", None) is not None and self._place[0] != ffi.NULL:
            self._context.call(lib.mpk_device_free, self._number, self._place)


class Link:
    """Copies between the host and a GPU, by the library.  ``number``: the GPU of a factor that is
    on one; None: whichever an array names."""

    def __init__(self, context: Context, number: Optional[int] = None) -> None:
        self.context = context
        self.number = number

    def lend(self, maker: Maker, x: Any, what: str) -> Lent:
        """As the library sees it, on the right GPU."""
        lent = maker.lend(x, what)
        if self.number is not None and lent.number is not None and lent.number != self.number:
            raise ValueError(f"{what} lies on cuda:{lent.number}, the factor on cuda:{self.number}")
        return lent

    def _copy(self, lent: Lent, to: Any, from_: Any) -> None:
        number = self.number if self.number is not None else lent.number or 0
        size = lent.size * lent.dtype.itemsize
        call = self.context.call
        self.context.check(call(lib.mpk_device_copy, number, to, size, from_, size, size, 1))

    def fetch(self, maker: Maker, x: Any, what: str) -> Array:
        """A NumPy array with the values of x."""
        x = maker.contiguous(x, what)
        lent = self.lend(maker, x, what)
        host = np.empty(lent.shape, lent.dtype, order="C" if lent.rows else "F")
        if lent.size:
            self._copy(lent, ffi.cast("void *", host.__array_interface__["data"][0]), lent.address)
        return host

    def put(self, maker: Maker, to: Any, values: Array, what: str) -> None:
        """Values into an array."""
        lent = self.lend(maker, to, what)
        if not (lent.rows or lent.columns):
            other = maker.empty(to, lent.dtype, False)
            if other is None:
                raise TypeError(f"{what} ({_name(to)}) has gaps between its entries")
            self.put(maker, other, values, what)
            maker.assign(to, other)
            return
        host = np.asarray(values, dtype=lent.dtype, order="C" if lent.rows else "F")
        if lent.size:
            self._copy(lent, lent.address, ffi.cast("void *", host.__array_interface__["data"][0]))


def _no_result(b: Any, dtype: DTypeLike) -> TypeError:
    return TypeError(f"no array like b ({_name(b)}) can be made for a result of dtype {dtype}: give "
                     "out, or b in that dtype")  # fmt: skip


def check_out(maker: Maker, out: Any, b: Lent, dtype: DType, link: Link) -> None:
    if not lies_there(out):
        raise TypeError(f"out must lie on the GPU as b does; it is a {type(out).__name__}")
    lent = link.lend(maker, out, "out")
    if lent.shape != b.shape or lent.dtype != dtype:
        raise ValueError(f"out is {lent.dtype} {lent.shape}, and must be {dtype} {b.shape}")
    if lent.readonly:
        raise ValueError("out is read-only")


def deliver(b: Any, out: Optional[Any], link: Link, x: Array) -> Any:
    """x, on the host, to where b lies: into ``out``, or a new array of b's type and order."""
    maker = maker_of(b)
    lent = link.lend(maker, b, "the right-hand side")
    if out is None:
        out = maker.empty(b, x.dtype, lent.columns and not lent.rows)
        if out is None:
            raise _no_result(b, x.dtype)
        to = maker
    else:
        to = maker_of(out)
        check_out(to, out, lent, x.dtype, link)
    link.put(to, out, x, "out")
    return out


def on_gpu(b: Any, dtype: DType, out: Optional[Any], link: Link, fresh: bool,
           solve: Callable[[Lent, Lent], None]) -> Optional[Any]:  # fmt: skip
    """``solve(b, x)`` where they lie, columns of dtype; x as the caller wants it.  ``fresh``: x is to
    hold b before.  None: nothing was done, it has to go through the host."""
    maker, what = maker_of(b), "the right-hand side"
    lent = link.lend(maker, b, what)
    if lent.dtype.kind == "c" and dtype.kind != "c":
        return None
    if out is not None:
        to = maker_of(out)
        check_out(to, out, lent, dtype, link)
        if fresh or type(to) is not type(maker):
            return None
    side = maker.columns(b, dtype, fresh)
    if side is None:
        return None
    x = side
    if not fresh:
        direct = out is not None and link.lend(maker, out, "out").columns
        x = out if direct else maker.empty(b, dtype, True)
        if x is None:
            return None
    solve(link.lend(maker, side, what), link.lend(maker, x, "out"))
    if out is not None:
        if x is not out and not maker.assign(out, x):
            return None
        return out
    return x if lent.columns or not lent.rows else maker.by_rows(x)
