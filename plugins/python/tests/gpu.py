# SPDX-License-Identifier: BSD-3-Clause
"""Arrays "on a GPU" without one: memory of the CUDA module that computes on the host
(tests/engines/cuda/host), and classes around it that show what other libraries' arrays show."""

import ctypes
import os
import types

import numpy as np
import scipy.sparse as sp

MODULE = os.environ.get("METAPACK_CUDA_HOST", "")
there = os.path.exists(MODULE)
if there:
    module = ctypes.CDLL(MODULE)
    module.host_device_alloc.restype = ctypes.c_void_p
    module.host_device_alloc.argtypes = [ctypes.c_size_t]
    module.host_device_free.argtypes = [ctypes.c_void_p]
WORK = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Memory:
    """Bytes of the device."""

    def __init__(self, size):
        self.pointer = module.host_device_alloc(size)
        self.size = size

    def __del__(self, free=lambda p: module.host_device_free(p)):
        free(self.pointer)


def room(shape, dtype, order="C"):
    """A NumPy view of new memory of the device; it ends with the view."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    memory = Memory(max(1, count) * dtype.itemsize)
    buffer = (ctypes.c_char * memory.size).from_address(memory.pointer)
    buffer.memory = memory
    return np.frombuffer(buffer, dtype, count).reshape(shape, order=order)


def moved(values, order="C"):
    values = np.asarray(values)
    view = room(values.shape, values.dtype, order)
    view[...] = values
    return view


def queue(work):
    """Work that is done when somebody waits for the device, and not before."""
    call = WORK(lambda _: work())
    module.host_device_queue(call, None)
    return call  # keep it


def interface(view, version, stream):
    d = {
        "shape": view.shape, "typestr": view.dtype.str, "version": version,
        "data": (view.__array_interface__["data"][0], not view.flags.writeable),
        "strides": None if view.flags.c_contiguous else view.strides,
    }  # fmt: skip
    if version >= 3:
        d["stream"] = stream
    return d


class Bare:
    """An array of a library that nobody knows: the interface alone."""

    def __init__(self, values, order="C", version=3, stream=1):
        self.view = moved(values, order)
        self.version, self.stream = version, stream

    @property
    def __cuda_array_interface__(self):
        return interface(self.view, self.version, self.stream)

    def get(self):
        return self.view.copy()


class Plain(Bare):
    """One that can be copied, too."""

    def copy(self):
        order = "C" if self.view.flags.c_contiguous else "F"
        return type(self)(self.view, order, self.version, self.stream)


class Packed:
    """An array that has DLPack alone, on GPU `number`."""

    _new = ctypes.pythonapi.PyCapsule_New
    _new.restype = ctypes.py_object
    _new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

    def __init__(self, values, order="C", number=0):
        self.view, self.number = moved(values, order), number
        self.streams = []

    def __dlpack_device__(self):
        return (2, self.number)

    def __dlpack__(self, stream=None):
        from pymetapack._device import _DLTensor

        self.streams.append(stream)
        view, count = self.view, self.view.ndim
        t = _DLTensor()
        t.data, t.device_type, t.device_id = view.__array_interface__["data"][0], 2, self.number
        t.ndim, t.lanes, t.bits = count, 1, 8 * view.dtype.itemsize
        t.code = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}[view.dtype.kind]
        self._shape = (ctypes.c_int64 * max(1, count))(*view.shape)
        self._strides = (ctypes.c_int64 * max(1, count))(
            *(s // view.dtype.itemsize for s in view.strides)
        )
        t.shape, t.byte_offset = self._shape, 0
        t.strides = None if view.flags.c_contiguous else self._strides
        self._tensor = t
        return Packed._new(ctypes.addressof(t), b"dltensor", None)

    def copy(self):
        order = "C" if self.view.flags.c_contiguous else "F"
        return Packed(self.view, order, self.number)

    def get(self):
        return self.view.copy()


# ---- as CuPy and cupyx.scipy.sparse have it ------------------------------------------------------


class _Place:
    id = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None

    def __eq__(self, other):
        return self.id == other.id


class ndarray:
    __module__ = "cupy"

    def __init__(self, view):
        self.view = view
        self.device = _Place()

    shape = property(lambda self: self.view.shape)
    dtype = property(lambda self: self.view.dtype)
    flags = property(lambda self: self.view.flags)
    __cuda_array_interface__ = property(lambda self: interface(self.view, 3, 1))

    def __setitem__(self, key, value):
        key = key.view if isinstance(key, ndarray) else key
        self.view[key] = value.view if isinstance(value, ndarray) else value

    def __eq__(self, other):
        return ndarray(moved(self.view == other.view))

    def __array__(self, *args, **kwargs):
        raise TypeError("implicit conversion to NumPy is not allowed")

    def all(self):
        return ndarray(moved(np.asarray(self.view.all())))

    def __bool__(self):
        return bool(self.view)

    def conj(self):
        return ndarray(moved(self.view.conj()))

    def copy(self):
        return ndarray(moved(self.view))

    def get(self):
        return self.view.copy()


def _order(x, order):
    return order if order == "F" or x.flags.f_contiguous and not x.flags.c_contiguous else "C"


def _array(x, dtype=None, order="K"):
    values = x.view if isinstance(x, ndarray) else np.asarray(x)
    return ndarray(moved(values.astype(dtype or values.dtype), _order(values, order)))


def _asarray(x, dtype=None, order="K"):
    same = isinstance(x, ndarray) and (dtype is None or x.dtype == dtype)
    if same and (order != "F" or x.flags.f_contiguous):
        return x
    return _array(x, dtype, order)


def _ascontiguousarray(x):
    return x if x.flags.c_contiguous else ndarray(moved(np.ascontiguousarray(x.view)))


def cupy():
    """A module with what pymetapack asks of CuPy."""
    m = types.ModuleType("cupy")
    m.ndarray, m.array, m.asarray, m.ascontiguousarray = ndarray, _array, _asarray, _ascontiguousarray
    m.empty = lambda shape, dtype=float, order="C": ndarray(room(shape, dtype, order))
    m.isfinite = lambda x: ndarray(moved(np.isfinite(x.view)))
    return m


class Sparse:
    """As cupyx.scipy.sparse's csr_matrix, csc_matrix and coo_matrix."""

    __module__ = "cupyx.scipy.sparse"

    def __init__(self, matrix, make=_array):
        self.matrix, self._make = matrix, make  # SciPy's, which computes the conversions
        self.format, self.shape, self.dtype = matrix.format, matrix.shape, matrix.dtype
        self.data = make(matrix.data)
        if self.format in ("csr", "csc"):
            self.indptr, self.indices = make(matrix.indptr), make(matrix.indices)
        self.conversions = 0

    def tocsc(self):
        self.conversions += 1
        return Sparse(sp.csc_matrix(self.matrix), self._make)
