# SPDX-License-Identifier: BSD-3-Clause
"""Incomplete sparse approximate inverses of matrices (docs/guide/isai.md)."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Optional

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._check import check_compressed, check_order, check_sparse
from ._context import Context
from ._device import Lent, Link, Parts, deliver, gpu_of, lies_there, maker_of, on_gpu
from ._errors import MetapackWarning
from ._lib import ffi, lib
from ._matrix import SCALARS, host_array, pointer, refuse_device, working_dtype
from ._options import as_dict
from ._types import Array, DType, MatrixLike, VectorLike
from ._vectors import check_shape, solve_columns

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
    if len(given.shape) != 2 or given.shape[0] != given.shape[1]:
        raise ValueError(f"{what} is {' x '.join(map(str, given.shape))}, not square")
    check_order(given.shape[0])
    check_sparse(given, what)
    a = given.tocsc()
    if not a.has_canonical_format:
        a = a.copy()
        a.sum_duplicates()
    return a


class _Columns:
    """A sparse matrix by columns as addresses, its arrays on the host or on a GPU."""

    def __init__(self, given: Any, what: str, link: Link) -> None:
        self.link, self.what = link, what
        if not lies_there(given):
            a = _columns(given, what)
            self.shape, self.parts = tuple(map(int, a.shape)), (a.indptr, a.indices, a.data)
            self.there = False
            return
        found: Optional[Parts] = maker_of(given).sparse(given, True)
        if found is None:
            raise TypeError(f"{what} is a dense array on a GPU: give a sparse one")
        if len(found.shape) != 2 or found.shape[0] != found.shape[1]:
            raise ValueError(f"{what} is {' x '.join(map(str, found.shape))}, not square")
        self.shape, self.parts = found.shape, (found.indptr, found.indices, found.values)
        self.there = True

    @property
    def dtype(self) -> DType:
        data = self.parts[2]
        return self.link.lend(maker_of(data), data, self.what).dtype if self.there else data.dtype

    def of(self, which: int, dtype: Any) -> tuple[Any, Any]:
        """One of the arrays in that type: its address, and what keeps it alive."""
        x = self.parts[which]
        if self.there:
            maker = maker_of(x)
            made = maker.columns(x, np.dtype(dtype), False)
            if made is not None:
                return self.link.lend(maker, made, self.what).address, made
            x = self.link.fetch(maker, x, self.what)
        x = np.ascontiguousarray(x, dtype=dtype)
        return pointer(x), x

    def pattern(self) -> tuple[Any, Any]:
        """The first two on the host."""
        both: tuple[Any, ...] = self.parts[:2]
        if self.there:
            both = tuple(self.link.fetch(maker_of(x), x, self.what) for x in both)
            values = self.parts[2]
            lent = self.link.lend(maker_of(values), values, self.what)
            check_compressed(both[0], both[1], range(lent.size), self.shape[1], self.shape[0], self.what)
        return (
            np.ascontiguousarray(both[0], dtype=np.int64),
            np.ascontiguousarray(both[1], dtype=np.int32),
        )


class ApproximateInverse:
    """M, made by :func:`isai`: ``inverse @ b`` or :meth:`solve` multiplies with it.

    Attributes
    ----------
    shape, dtype
    kind : str
    device : str
        "cpu", or "cuda:0" and so on: where M is.
    status : str
        "ok", or "singular": some small systems were, and their columns are the diagonal alone.
    """

    def __init__(self, kind: str, n: int, dtype: DType, gpu: Optional[int] = None) -> None:
        self._ctx = Context()
        self._place = self._ctx.own("isai")
        self._gpu = gpu
        self.kind, self.shape, self.dtype = kind, (n, n), dtype
        self.device = "cpu" if gpu is None else f"cuda:{gpu}"

    def _link(self) -> Link:
        return Link(self._ctx, self._gpu)

    def _create(self, a: _Columns, options: Any, pattern: Optional[_Columns]) -> None:
        self._indptr, self._indices = a.pattern()
        arrays = [a.of(0, np.int64), a.of(1, np.int32), a.of(2, self.dtype)]
        if pattern is not None:
            arrays += [pattern.of(0, np.int64), pattern.of(1, np.int32)]
            options.ptr = ffi.cast("int64_t *", arrays[3][0])
            options.row = ffi.cast("int32_t *", arrays[4][0])
        if self._gpu is not None:
            options.memory, options.device = lib.MPK_DEVICE, self._gpu
        status = self._ctx.call(
            lib.mpk_isai_create, SCALARS[self.dtype], self.shape[0],
            ffi.cast("int64_t *", arrays[0][0]), ffi.cast("int32_t *", arrays[1][0]), arrays[2][0],
            options, self._place, long=True,
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

        n = self.shape[0]

        def run(given: Any, x: Any, nrhs: int) -> None:
            self._ctx.check(self._ctx.call(
                lib.mpk_isai_apply, self._place[0], which, nrhs, given, n, x, n
            ))  # fmt: skip

        def apply(given: Array, x: Array) -> None:
            run(pointer(given.T), pointer(x.T), 1 if given.ndim == 1 else given.shape[1])

        if not lies_there(b):
            return solve_columns(b, n, self.dtype, out, apply)
        if self._gpu is None:
            refuse_device(b, "the right-hand side")
        link = self._link()
        lent = link.lend(maker_of(b), b, "the right-hand side")
        check_shape(lent.shape, n)
        working_dtype(lent.dtype, "the right-hand side")

        def there(given: Lent, x: Lent) -> None:
            run(given.address, x.address, 1 if len(lent.shape) == 1 else lent.shape[1])

        x: Optional[Array] = on_gpu(b, self.dtype, out, link, False, there)
        if x is None:
            host = link.fetch(maker_of(b), b, "the right-hand side")
            x = deliver(b, out, link, solve_columns(host, n, self.dtype, None, apply))
        return x

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
        if self._gpu is None and lies_there(A):
            refuse_device(A, "the matrix")
        a = _Columns(A, "the matrix", self._link())
        indptr, indices = a.pattern()
        if not (np.array_equal(indptr, self._indptr) and np.array_equal(indices, self._indices)):
            raise ValueError("the pattern is another one: isai() makes a new inverse")
        address, keep = a.of(2, self.dtype)
        self._judge(self._ctx.call(lib.mpk_isai_update, address, self._place[0], long=True))
        del keep
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
         relax: int = 0, precision: str = "double", threads: int = 0,
         device: Optional[str] = None) -> ApproximateInverse:  # fmt: skip
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
    device : "cpu" | "cuda" | "cuda:1"
        Where it is made, held and multiplied. Default: where A lies. A may be a sparse matrix of
        CuPy's or PyTorch's on a GPU, its rows sorted; vectors of either memory are then taken.

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
    gpu = gpu_of(device, A)
    link = Link(Context(), gpu)
    if gpu is None:
        refuse_device(A, "the matrix")
        refuse_device(pattern, "the pattern")
    a = _Columns(A, "the matrix", link)
    other = None if pattern is None else _Columns(pattern, "the pattern", link)
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
    dtype = working_dtype(a.dtype, "the matrix")
    inverse = ApproximateInverse(kind, int(a.shape[0]), dtype, gpu)
    inverse._create(a, options, other)
    return inverse
