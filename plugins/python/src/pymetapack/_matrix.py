# SPDX-License-Identifier: BSD-3-Clause
"""What users have as a matrix -> compressed columns of one of the library's four types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np
import scipy.sparse as sp
from numpy.typing import DTypeLike

from ._check import check_order, check_sparse
from ._context import Context
from ._device import Link, Parts, is_sparse_tensor, lies_there, maker_of
from ._lib import ffi, lib
from ._types import Array, DType

SCALARS: dict[DType, int] = {
    np.dtype(np.float32): 0,
    np.dtype(np.float64): 1,
    np.dtype(np.complex64): 2,
    np.dtype(np.complex128): 3,
}
DTYPES: list[DType] = list(SCALARS)
_LONG_NNZ = 1_000_000  # more entries take long enough that Ctrl-C must be heard


def refuse_device(x: Any, what: str) -> None:
    """TypeError for whatever lies on a device."""
    if not lies_there(x):
        return
    raise TypeError(
        f"{what} lies on a device ({type(x).__module__}.{type(x).__name__}), and is taken from host "
        "memory here: give a host copy (x.get(), x.cpu())"
    )


def host_array(x: Any, what: str) -> Array:
    """A NumPy array of x: arrays, lists, DLPack of the host's memory; anything else: TypeError."""
    if isinstance(x, np.ndarray):
        return x
    refuse_device(x, what)
    if sp.issparse(x):
        check_sparse(x, what)
        return np.asarray(x.toarray())
    if hasattr(x, "__array_interface__") or hasattr(x, "__array__"):
        return np.asarray(x)
    if hasattr(x, "__dlpack__"):
        return np.from_dlpack(x)
    return np.asarray(x)


def working_dtype(dtype: DTypeLike, what: str) -> DType:
    """float32, float64, complex64 or complex128; integers and booleans become float64."""
    dtype = np.dtype(dtype).newbyteorder("=")
    if dtype in SCALARS:
        return dtype
    if dtype.kind in "iub":
        return np.dtype(np.float64)
    raise TypeError(
        f"{what} has dtype {dtype}: float32, float64, complex64 and complex128 are solved "
        "(integers as float64)"
    )


def pointer(array: Array) -> Any:
    """Address of a contiguous array; NULL for an empty one.  The caller keeps the array alive."""
    return ffi.cast("void *", ffi.from_buffer(array)) if array.size else ffi.NULL


@dataclass
class Matrix:
    """Compressed columns as the library takes them.  ``conjugate``: values go in conjugated."""

    n: int
    dtype: DType
    hermitian: bool
    triangle: int
    indptr: Array  # int64, n + 1
    indices: Array  # int32
    values: Optional[Array]  # dtype, as the user has them
    conjugate: bool
    kind: str  # "csc" | "csr": the order of values is the user's; "other": it is ours
    general: bool = False  # all entries count; A need not be symmetric

    @property
    def whole_rows(self) -> bool:
        """Both triangles, by rows."""
        return self.kind == "csr" and self.triangle == lib.MPK_FULL and not self.general

    @property
    def data(self) -> Array:
        assert self.values is not None
        return self.values.conj() if self.conjugate else self.values

    def problem(self, context: Context, values: Optional[Array] = None) -> Any:
        """``mpk_problem **``, owned by the caller: destroy_problem()."""
        place = ffi.new("mpk_problem **")
        ax = np.ascontiguousarray(self.data if values is None else values)
        what = (self.n, SCALARS[self.dtype],
                lib.MPK_GENERAL if self.general else int(self.hermitian), self.triangle)  # fmt: skip
        long = len(self.indices) > _LONG_NNZ
        if self.whole_rows:  # the library shall see A itself, not its transpose
            rows = np.repeat(np.arange(self.n, dtype=np.int32), np.diff(self.indptr))
            status = context.call(
                lib.mpk_problem_from_triplets, *what, len(rows), pointer(rows),
                pointer(self.indices), pointer(ax), place, long=long,
            )  # fmt: skip
        else:
            status = context.call(
                lib.mpk_problem_from_csc, *what, pointer(self.indptr), pointer(self.indices),
                pointer(ax), place, long=long,
            )  # fmt: skip
        hint = ""
        if (
            status < 0
            and self.triangle == lib.MPK_FULL
            and "the matrix is not" in context.message()[2]
        ):
            hint = (" (lower=True or lower=False: use one triangle only; lu and ldu: as it is, and "
                    "so spsolve with general=True)")  # fmt: skip
            if not self.hermitian and self.dtype.kind == "c":
                hint += " (hermitian=True: A equals its conjugate transpose)"
        context.check(status, hint)
        return place

    def same_pattern(self, other: Matrix) -> bool:
        """The very same arrays of indices: then the values are in the same order."""
        return (
            self.n == other.n
            and (self.kind == "csr") == (other.kind == "csr")
            and self.triangle == other.triangle
            and np.array_equal(self.indptr, other.indptr)
            and np.array_equal(self.indices, other.indices)
        )


def destroy_problem(place: Any) -> None:
    lib.mpk_problem_destroy(place)


def parts_of(A: Any, general: bool) -> Optional[Parts]:
    """Of a sparse matrix on a GPU, or of PyTorch's on the host; None: it is dense."""
    return maker_of(A).sparse(A, general)


def _compressed(parts: Parts, bring: Any) -> Any:
    """A SciPy matrix with the arrays of the parts as ``bring`` gives them."""
    names = ("the values", "the indices", "the indptr")
    arrays = [bring(x, w) for x, w in zip((parts.values, parts.indices, parts.indptr), names)]
    make = sp.csr_matrix if parts.form == "csr" else sp.csc_matrix
    return make(tuple(arrays), shape=parts.shape)


def to_host(A: Any, link: Link, general: bool) -> tuple[Any, Optional[Parts]]:
    """What SciPy or NumPy would have for A on a GPU, and its parts if it is sparse."""
    parts = parts_of(A, general)
    if parts is None:
        return link.fetch(maker_of(A), A, "the matrix"), None
    return _compressed(parts, lambda x, what: link.fetch(parts.maker, x, what)), parts


def take_there(A: Any, link: Link, lower: Optional[bool], hermitian: bool,
               dtype: Optional[DType] = None, general: bool = False) -> Matrix:  # fmt: skip
    """:func:`take` of A on a GPU: the analysis looks at the values, so they come along, once."""
    host, parts = to_host(A, link, general)
    m = take(host, lower, hermitian, dtype, general)
    if parts is not None and not parts.given:
        m.kind = "other"
    return m


def take(A: Any, lower: Optional[bool], hermitian: bool, dtype: Optional[DType] = None,
         general: bool = False) -> Matrix:  # fmt: skip
    """Look at A and lay it out.  Nothing is copied that need not be."""
    refuse_device(A, "the matrix")
    changed = False
    if is_sparse_tensor(A):
        parts = parts_of(A, general)
        assert parts is not None
        A, changed = _compressed(parts, lambda x, what: np.asarray(x)), not parts.given
    if not sp.issparse(A):
        A = host_array(A, "the matrix")
        if A.ndim != 2:
            raise ValueError(f"the matrix has {A.ndim} dimensions, not 2")
        kind = "other"
    else:
        kind = A.format if A.format in ("csc", "csr") else "other"
        if changed:
            kind = "other"
        if general and kind == "csr":  # by rows it is another matrix
            kind = "other"
    if general and (lower is not None or hermitian):
        raise ValueError("a matrix that is not symmetric has neither lower nor hermitian")
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix is {' x '.join(map(str, A.shape))}, not square")
    check_order(A.shape[0])
    if sp.issparse(A):
        check_sparse(A)
    work = working_dtype(A.dtype if dtype is None else dtype, "the matrix")
    if not sp.issparse(A):
        A = sp.csc_matrix(A.astype(work))
    elif kind == "other":
        A = A.tocsc()
    by_rows = kind == "csr"
    hermitian = bool(hermitian) and work.kind == "c"
    if lower is None:
        triangle = lib.MPK_FULL
    else:
        triangle = lib.MPK_LOWER if bool(lower) != by_rows else lib.MPK_UPPER
    indptr = np.ascontiguousarray(A.indptr, dtype=np.int64)
    indices, nnz = A.indices, int(indptr[-1])
    return Matrix(
        n=int(A.shape[0]),
        dtype=work,
        hermitian=hermitian,
        triangle=triangle,
        indptr=indptr,
        indices=np.ascontiguousarray(indices[:nnz], dtype=np.int32),
        values=np.ascontiguousarray(A.data[:nnz], dtype=work),
        conjugate=by_rows and hermitian and lower is not None,
        kind=kind,
        general=general,
    )


def view_of(place: Any) -> Any:
    view = ffi.new("mpk_problem_view *")
    lib.mpk_problem_view_get(place[0], view)
    return view


def copy_array(address: Any, count: int, dtype: DTypeLike) -> Array:
    """A NumPy copy of count entries."""
    dtype = np.dtype(dtype)
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(address, count * dtype.itemsize), dtype).copy()


def places(view: Any) -> Array:
    """Column and row of each entry that the library stores, as one number."""
    n = int(view.n)
    ap = copy_array(view.ap, n + 1, np.int64)
    rows = copy_array(view.ai, view.nnz, np.int32).astype(np.int64)
    return rows + np.repeat(np.arange(n, dtype=np.int64), np.diff(ap)) * n
