# SPDX-License-Identifier: BSD-3-Clause
"""Incomplete sparse approximate inverses of matrices (docs/isai.md)."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Optional

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._context import Context
from ._errors import MetapackWarning
from ._lib import ffi, lib
from ._matrix import SCALARS, host_array, pointer, refuse_device, working_dtype
from ._options import as_dict
from ._types import Array, DType, MatrixLike, VectorLike
from ._vectors import solve_columns

__all__ = ["ApproximateInverse", "isai"]

_KINDS = ("lower", "upper", "general", "definite")
_OVER = ("refuse", "less", "largest")


def _word(value: str, words: tuple[str, ...], what: str) -> int:
    if value not in words:
        raise ValueError(f"{what} must be one of {', '.join(words)}")
    return words.index(value)


def _columns(given: Any, what: str) -> Any:
    """SciPy's CSC, square, rows ascending; the caller's own arrays where they are so already."""
    refuse_device(given, what)
    if not sp.issparse(given):
        given = sp.csc_matrix(host_array(given, what))
    a = given.tocsc()
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"{what} is {' x '.join(map(str, a.shape))}, not square")
    if not a.has_canonical_format:
        a = a.copy()
        a.sum_duplicates()
    return a


class ApproximateInverse:
    """M, made by :func:`isai`: ``inverse @ b`` or :meth:`solve` multiplies with it.

    Attributes
    ----------
    shape, dtype
    kind : str
    status : str
        "ok", or "singular": some small systems were, and their columns are the diagonal alone.
    """

    def __init__(self, kind: str, n: int, dtype: DType) -> None:
        self._ctx = Context()
        self._place = self._ctx.own("isai")
        self.kind, self.shape, self.dtype = kind, (n, n), dtype

    def _create(self, a: Any, options: Any, pattern: Any) -> None:
        self._indptr = np.ascontiguousarray(a.indptr, dtype=np.int64)
        self._indices = np.ascontiguousarray(a.indices, dtype=np.int32)
        data = np.ascontiguousarray(a.data, dtype=self.dtype)
        rows = None
        if pattern is not None:
            rows = (pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32))
            options.ptr = ffi.cast("int64_t *", pointer(rows[0]))
            options.row = ffi.cast("int32_t *", pointer(rows[1]))
        status = self._ctx.call(
            lib.mpk_isai_create, SCALARS[self.dtype], self.shape[0],
            ffi.cast("int64_t *", pointer(self._indptr)),
            ffi.cast("int32_t *", pointer(self._indices)), pointer(data), options, self._place,
            long=True,
        )  # fmt: skip
        self._judge(status)

    def _judge(self, status: int) -> None:
        self._ctx.check(status)
        self.status = "singular" if status > 0 else "ok"
        if status > 0:
            warnings.warn(self._ctx.message()[2], MetapackWarning, stacklevel=4)

    def solve(self, b: VectorLike, *, side: str = "n", out: Optional[Array] = None) -> Array:
        """M b, with the sweeps of relaxation that were asked for; side "t", "h": with M^T, M^H."""
        which = _word(side, ("n", "t", "h"), "side")

        def apply(given: Array, x: Array) -> None:
            n = self.shape[0]
            nrhs = 1 if given.ndim == 1 else given.shape[1]
            self._ctx.check(self._ctx.call(
                lib.mpk_isai_apply, self._place[0], which, nrhs, pointer(given.T), n, pointer(x.T), n
            ))  # fmt: skip

        return solve_columns(b, self.shape[0], self.dtype, out, apply)

    def __matmul__(self, b: VectorLike) -> Array:
        return self.solve(b)

    def aslinearoperator(self) -> LinearOperator:
        """For SciPy's solvers, and this package's."""

        def of(side: str) -> Callable[[Array], Array]:
            return lambda b: self.solve(b, side=side)

        return LinearOperator(
            self.shape, matvec=of("n"), rmatvec=of("h"), matmat=of("n"), rmatmat=of("h"),
            dtype=self.dtype,
        )  # fmt: skip

    def update(self, A: MatrixLike) -> ApproximateInverse:
        """New values of the same pattern; that of M stays as it is."""
        a = _columns(A, "the matrix")
        if not (
            np.array_equal(a.indptr, self._indptr) and np.array_equal(a.indices, self._indices)
        ):
            raise ValueError("the pattern is another one: isai() makes a new inverse")
        data = np.ascontiguousarray(a.data, dtype=self.dtype)
        self._judge(self._ctx.call(lib.mpk_isai_update, pointer(data), self._place[0], long=True))
        return self

    def matrix(self) -> sp.csc_matrix:
        """M as SciPy's CSC matrix; of kind "definite" G, with M = G G^H."""
        n, entries = self.shape[0], self.info()["entries"]
        indptr, indices = np.zeros(n + 1, np.int64), np.zeros(entries, np.int32)
        data = np.zeros(entries, self.dtype)
        self._ctx.check(self._ctx.call(
            lib.mpk_isai_get, self._place[0], ffi.cast("int64_t *", pointer(indptr)),
            ffi.cast("int32_t *", pointer(indices)), pointer(data),
        ))  # fmt: skip
        return sp.csc_matrix((data, indices, indptr), shape=self.shape)

    def info(self) -> dict[str, Any]:
        """The fields of the library's structure ``mpk_isai_info``."""
        info = ffi.new("mpk_isai_info *")
        lib.mpk_isai_info_get(self._place[0], info)
        return as_dict(info[0])

    def __repr__(self) -> str:
        n = self.shape[0]
        return (f"<ApproximateInverse of a {n} x {n} matrix, {self.dtype}, {self.kind}: "
                f"{self.status}, {self.info()['entries']} entries>")  # fmt: skip


def isai(A: MatrixLike, kind: str = "lower", *, power: int = 1, block: Optional[int] = None,
         pattern: Optional[MatrixLike] = None, limit: int = 0, over: str = "refuse",
         relax: int = 0, precision: str = "double", threads: int = 0) -> ApproximateInverse:  # fmt: skip
    """An incomplete sparse approximate inverse: (A M - I)_ij = 0 on its pattern.

    Parameters
    ----------
    A : n x n, sparse or dense
    kind : "lower" | "upper" | "general" | "definite"
        Which triangle of A is inverted; all of it; or A ~ (G G^H)^-1, with both triangles given.
    power : int
        The pattern is that of abs(A)**power (of ``pattern``, where one is given), cut to the
        triangle. 0: the diagonal.
    block : int
        Instead: so many rows each along the diagonal.
    pattern : n x n
        Another matrix whose pattern counts.
    limit : int
        Most entries of a column; 0: no limit.
    over : "refuse" | "less" | "largest"
        A longer one is an error, gets a smaller power, or its largest entries.
    relax : int
        Sweeps x = x + M (b - A x) after x = M b.
    precision : "double" | "single"
        In which M is held.

    Examples
    --------
    >>> import numpy as np, pymetapack
    >>> L = np.array([[2.0, 0, 0], [1, 1, 0], [0, 4, 1]])
    >>> M = pymetapack.isai(L)
    >>> (L @ M.matrix().toarray()).tolist()         # the corner is not in the pattern
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [-2.0, 0.0, 1.0]]
    >>> (pymetapack.isai(L, power=2) @ [2.0, 2, 5]).tolist()
    [1.0, 1.0, 1.0]
    """
    a = _columns(A, "the matrix")
    other = None if pattern is None else _columns(pattern, "the pattern")
    if other is not None and other.shape != a.shape:
        raise ValueError(f"the pattern is {other.shape}, the matrix {a.shape}")
    if block is not None and pattern is not None:
        raise ValueError("block and pattern exclude each other")
    options = ffi.new("mpk_isai_options *")
    lib.mpk_isai_options_init(options)
    options.kind = _word(kind, _KINDS, "kind")
    options.over = _word(over, _OVER, "over")
    options.precision = _word(precision, ("double", "single"), "precision")
    options.source = lib.MPK_ISAI_POWER if block is None else lib.MPK_ISAI_BLOCKS
    options.power, options.block = int(power), 1 if block is None else int(block)
    options.limit, options.relax, options.threads = int(limit), int(relax), int(threads)
    inverse = ApproximateInverse(kind, int(a.shape[0]), working_dtype(a.dtype, "the matrix"))
    inverse._create(a, options, other)
    return inverse
