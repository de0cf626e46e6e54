# SPDX-License-Identifier: BSD-3-Clause
"""Many small dense matrices at once: factorizations, solves, products (docs/guide/batch.md)."""

from __future__ import annotations

import warnings
from typing import Any, NoReturn, Optional, Sequence, Union, overload

import numpy as np

from ._check import check_order
from ._context import Context, Progress
from ._errors import InaccurateWarning, MetapackWarning, ZeroPivotWarning
from ._lib import ffi, lib
from ._matrix import SCALARS, host_array, pointer, working_dtype
from ._systems import MixedFactor, SystemsFactor, Values, matrices, refuse_iterator
from ._types import Array, DType, MatrixLike, OptionValue, SparseMatrix, VectorLike
from ._verdict import measure, solves

__all__ = ["BatchFactor", "batch_gemm", "ldl_batch"]

_PIVOTING = ("none", "static", "partial", "rook", "complete")
_LONG = 100_000_000  # from so many operations on Ctrl-C must be heard
_METHODS = ("llt", "ldlt", "ldu")
OUTCOMES = ("ok", "singular", "breakdown", "not finite")


def _columns(a: Array, dtype: DType) -> Array:
    """A copy of (count, rows, cols) whose matrices lie by columns: shape (count, cols, rows)."""
    count, rows, cols = a.shape
    result = np.empty((count, cols, rows), dtype)
    step = max(1, 10_000_000 // max(1, rows * cols))  # Ctrl-C is heard in between
    for k in range(0, count, step):
        result[k : k + step] = a[k : k + step].transpose(0, 2, 1)
    return result


def _array(a: Array) -> Any:
    """mpk_batch_array of a (count, cols, rows) C-contiguous array."""
    operand = ffi.new("mpk_batch_array *")
    operand.layout = lib.MPK_BATCH_STRIDED
    operand.memory = lib.MPK_HOST
    operand.data = pointer(a)
    operand.stride = a.shape[1] * max(1, a.shape[2])
    operand.ld = max(1, a.shape[2])
    return operand


def _take(given: VectorLike, what: str) -> Array:
    a = host_array(given, what)
    if a.ndim != 3:
        raise ValueError(f"{what} has shape {a.shape}; (count, rows, columns) is wanted")
    return a


class BatchFactor:
    """Factors of many matrices, made by :func:`ldl_batch`.

    Attributes
    ----------
    outcome : int32 array (count,)
        0 ok, 1 singular, 2 breakdown (no factors), 3 not finite (no factors).
    inertia : int32 array (count, 3)
        Positive, negative, zero; (0, 0, zeros) of complex symmetric matrices.
    L, D : arrays (count, n, n)
    perm : int32 array (count, n)
        Old index at each position.
    """

    def __init__(self, a: Array, lower: bool, hermitian: bool, method: str, pivoting: str,
                 sizes: Optional[VectorLike], threads: int, zero_tolerance: float) -> None:  # fmt: skip
        if method not in _METHODS:
            raise ValueError(f"method must be one of {', '.join(_METHODS)}")
        if pivoting not in _PIVOTING:
            raise ValueError(f"pivoting must be one of {', '.join(_PIVOTING)}")
        if a.shape[1] != a.shape[2]:
            raise ValueError(f"the matrices are {a.shape[1]} x {a.shape[2]}, not square")
        self.count, self.n = int(a.shape[0]), check_order(a.shape[1])
        self.dtype = working_dtype(a.dtype, "the matrices")
        self.method = method
        self._ctx = Context()
        hermitian = hermitian and self.dtype.kind == "c"
        self.hermitian = hermitian
        self._upper = method != "ldu" and not lower
        self._a = self._lower_of(a)
        batch = self._batch = ffi.new("mpk_batch *")
        lib.mpk_batch_init(batch)
        batch.scalar = SCALARS[self.dtype]
        batch.symmetry = int(hermitian)
        batch.count, batch.n = self.count, self.n
        batch.threads = int(threads)
        batch.zero_tolerance = float(zero_tolerance)
        batch.pivoting = _PIVOTING.index(pivoting)
        self._sizes: Optional[Array] = None
        if sizes is not None:
            given = np.asarray(sizes)
            if given.dtype.kind not in "iu":
                raise TypeError(f"sizes has dtype {given.dtype}: integers are wanted")
            if given.size and not -(2**31) <= int(given.min()) <= int(given.max()) < 2**31:
                raise ValueError("sizes has entries that are no 32-bit integers")
            self._sizes = given.astype(np.int32)
            if self._sizes.shape != (self.count,):
                raise ValueError(f"sizes has shape {self._sizes.shape}, not ({self.count},)")
            batch.sizes = ffi.cast("int32_t *", pointer(self._sizes))
        self.outcome = np.zeros(self.count, np.int32)
        self.inertia = np.zeros((self.count, 3), np.int32)
        width = (2 if method == "ldu" else 1) * self.n
        self._pivots = None if pivoting == "none" else np.zeros((self.count, width), np.int32)
        function = getattr(lib, f"mpk_batch_{method}")
        if self.count and self.n:
            status = self._ctx.call(
                function, batch, _array(self._a), self._pivot_pointer(), self._results(True),
                long=self._a.size * self.n > _LONG,
            )
            self._ctx.check(status)
        self._kept = self._whole(a, lower)
        self.status = "ok"
        if (self.outcome >= lib.MPK_BATCH_BREAKDOWN).any():
            self.status = "partial"
        elif self.outcome.any():
            self.status = "singular"

    def _whole(self, a: Array, lower: bool) -> dict[int, Array]:
        """The singular ones as they were, to see whether a system is consistent."""
        kept = {}
        for k in np.nonzero(self.outcome == lib.MPK_BATCH_SINGULAR)[0]:
            n = self.n if self._sizes is None else int(self._sizes[k])
            one = np.asarray(a[k, :n, :n], dtype=self.dtype)
            if self.method != "ldu":
                half = np.tril(one, -1) if lower else np.triu(one, 1)
                one = half + (half.conj().T if self.hermitian else half.T) + np.diag(np.diag(one))
            kept[int(k)] = one
        return kept

    def _tell_inconsistent(self, b: Array, x: Array) -> None:
        bad = []
        for k, a in self._kept.items():
            n = len(a)
            error, rows, _ = measure(a, b[k, :n], x[k, :n])
            if not solves(self.dtype, error, rows):
                bad.append(k)
        if bad:
            warnings.warn(f"{len(bad)} of {self.count} systems are inconsistent: the matrix is "
                          f"singular and no x solves them; the first is number {bad[0]}",
                          InaccurateWarning, stacklevel=4)  # fmt: skip

    def _lower_of(self, a: Array) -> Array:
        """A copy by columns; the library reads the lower triangle alone."""
        columns = _columns(a, self.dtype)
        if not self._upper:
            return columns
        flipped = columns.transpose(0, 2, 1)
        return np.ascontiguousarray(flipped.conj() if self.hermitian else flipped)

    def certified(self, A: VectorLike) -> Array:
        """Are the inertias those of the matrices, and not only of L D Lᵀ?  Not of method "ldu".

        A : array (count, n, n): the matrices that were factored
        Returns a bool array (count,), by products and solves, at most 16 of each.
        """
        given = _take(A, "A")
        if given.shape != self._a.shape:
            raise ValueError(f"A has shape {given.shape}, the factors are of {self._a.shape}")
        a = self._lower_of(given)
        found = ffi.new("mpk_certificate[]", max(1, self.count))
        if self.count and self.n:
            self._ctx.check(self._ctx.call(
                lib.mpk_batch_certify, self._batch, _METHODS.index(self.method),
                _array(a), _array(self._a), self._pivot_pointer(), found,
            ))  # fmt: skip
        return np.array([bool(found[k].certified) for k in range(self.count)], bool)

    def _pivot_pointer(self) -> Any:
        if self._pivots is None:
            return ffi.NULL
        return ffi.cast("int32_t *", pointer(self._pivots))

    def _results(self, both: bool) -> Any:
        results = ffi.new("mpk_batch_results *")
        results.outcome = ffi.cast("int32_t *", pointer(self.outcome if both else self._solved))
        if both:
            results.inertia = ffi.cast("int32_t *", pointer(self.inertia))
        return results

    def solve(self, b: VectorLike) -> Array:
        """Solve all systems.

        b : array (count, n) or (count, n, nrhs), nrhs <= 64
        Returns x of b's shape; NaN for matrices without factors.  Zero pivots give zero in their
        places; InaccurateWarning where such a system turns out to be inconsistent.
        """
        b = host_array(b, "the right-hand sides")
        if b.shape[:2] != (self.count, self.n) or b.ndim not in (2, 3):
            raise ValueError(f"b has shape {b.shape}; ({self.count}, {self.n}) or "
                             f"({self.count}, {self.n}, k) is wanted")  # fmt: skip
        if not np.can_cast(working_dtype(b.dtype, "b"), self.dtype, "same_kind"):
            raise TypeError(f"{b.dtype} right-hand sides do not fit {self.dtype} factors")
        x = _columns(b.reshape(self.count, self.n, -1 if b.size else 1), self.dtype)
        nrhs = x.shape[1]
        self._solved = np.zeros(self.count, np.int32)
        if x.size:
            status = self._ctx.call(
                lib.mpk_batch_solve, self._batch, _METHODS.index(self.method), _array(self._a),
                self._pivot_pointer(), nrhs, _array(x), self._results(False),
                long=x.size * self.n > _LONG,
            )  # fmt: skip
            self._ctx.check(status)
        x[self.outcome >= lib.MPK_BATCH_BREAKDOWN] = np.nan
        found = np.ascontiguousarray(x.transpose(0, 2, 1))
        if self._kept and x.size:
            self._tell_inconsistent(b.reshape(found.shape), found)
        return found.reshape(b.shape)

    @property
    def perm(self) -> Array:
        every = np.broadcast_to(np.arange(self.n, dtype=np.int32), (self.count, self.n))
        if self._pivots is None:
            return every.copy()
        p = self._pivots[:, : self.n]
        return np.where(p < 0, ~p, p)

    def _first_of_two(self) -> Array:
        """(count, n - 1): does a 2 x 2 pivot begin here?"""
        starts = np.zeros((self.count, max(0, self.n - 1)), bool)
        if self._pivots is None or self.method != "ldlt":
            return starts
        second = np.zeros(self.count, bool)
        for k in range(self.n - 1):
            starts[:, k] = (self._pivots[:, k] < 0) & ~second
            second = starts[:, k]
        return starts

    @property
    def D(self) -> Array:
        if self.method == "llt":
            return np.broadcast_to(np.eye(self.n, dtype=self.dtype), self._a.shape).copy()
        d = np.zeros_like(self._a)
        k = np.arange(self.n)
        d[:, k, k] = self._a[:, k, k]
        which, first = np.nonzero(self._first_of_two())
        below = self._a[which, first, first + 1]
        d[which, first + 1, first] = below
        d[which, first, first + 1] = below.conj() if self.hermitian else below
        return d

    @property
    def L(self) -> Array:
        lower = np.tril(self._a.transpose(0, 2, 1))
        k = np.arange(self.n)
        if self.method != "llt":
            lower[:, k, k] = 1
            which, first = np.nonzero(self._first_of_two())
            lower[which, first + 1, first] = 0
        return lower

    def __reduce__(self) -> NoReturn:
        raise TypeError("a BatchFactor cannot be pickled or copied")


@overload
def ldl_batch(A: VectorLike, values: None = None, *, lower: Optional[bool] = None, hermitian: bool = False,
              method: str = "ldlt", pivoting: str = "partial", sizes: Optional[VectorLike] = None,
              threads: int = 0, zero_tolerance: float = -1.0) -> BatchFactor: ...  # fmt: skip


@overload
def ldl_batch(A: MatrixLike, values: Values, *, lower: Optional[bool] = None, hermitian: bool = False,
              threads: int = 0, zero_tolerance: float = -1.0, expected: int = 0, keep: bool = True,
              certify: bool = False, general: bool = False, progress: Optional[Progress] = None,
              **options: OptionValue) -> SystemsFactor: ...  # fmt: skip


@overload
def ldl_batch(A: Sequence[SparseMatrix], values: None = None, *, lower: Optional[bool] = None,
              hermitian: bool = False, threads: int = 0, zero_tolerance: float = -1.0, keep: bool = True,
              certify: bool = False, general: bool = False, progress: Optional[Progress] = None,
              **options: OptionValue) -> MixedFactor: ...  # fmt: skip


def ldl_batch(A: Union[VectorLike, MatrixLike, Sequence[SparseMatrix]], values: Optional[Values] = None, *,
              lower: Optional[bool] = None, hermitian: bool = False,
              method: str = "ldlt", pivoting: str = "partial", sizes: Optional[VectorLike] = None,
              threads: int = 0, zero_tolerance: float = -1.0, expected: int = 0, keep: bool = True,
              certify: bool = False, general: bool = False, progress: Optional[Progress] = None,
              **options: OptionValue) -> Union[BatchFactor, SystemsFactor, MixedFactor]:  # fmt: skip
    """Factorize many matrices, each with an outcome of its own: small dense ones; where values are
    given, sparse ones of one pattern; or a list of sparse ones.

    Parameters
    ----------
    A : array (count, n, n), n <= 64; with values a sparse matrix (n, n); or a list of these
        float32, float64, complex64 or complex128.  Copied.  Of the sparse one pattern and values
        are analysed: it should be one like those to come.  Those of a list may differ in order and
        pattern; each pattern is analysed once, with the values of the first that has it.
    values : array (count, nnz), or a list of matrices of A's pattern and format, optional
        Entry k of a row belongs to ``A.data[k]`` of a csr or csc matrix.  An array on a GPU (CuPy,
        PyTorch, JAX by DLPack): the systems are factorized and solved there, as with
        ``device="cuda"``.
    lower : bool, optional
        Which triangle counts; default: the lower one of dense matrices ("ldu" reads all), of a
        sparse one both, which are checked to agree.
    hermitian : bool
        Complex matrices: A = Aᴴ, else A = Aᵀ.
    method, pivoting, sizes
        Of dense ones alone.  {"ldlt", "llt", "ldu"}; {"none", "static", "partial", "rook",
        "complete"}: "partial" is Bunch and Kaufman's, "llt" has "none" and "complete"; order of each
        matrix, at most n.
    expected, keep, certify, general, progress, options
        Of sparse ones alone.  About how many systems there will be (not of a list); False: systems
        that a mask leaves out of a factorization lose their factors; examine each inertia; True: A
        need not be symmetric, and gets an LU factor (:func:`lu`); as of :func:`ldl`.

    Returns
    -------
    BatchFactor; with values SystemsFactor; of a list MixedFactor

    Warns
    -----
    ZeroPivotWarning, MetapackWarning
        Some are singular; some have no factors (their NaN, or a method that breaks down).

    >>> import numpy as np, pymetapack
    >>> A = np.array([[[0.0, 1], [1, 0]], [[2, 1], [1, 3]]])
    >>> F = pymetapack.ldl_batch(A)
    >>> F.inertia.tolist()
    [[1, 1, 0], [2, 0, 0]]
    >>> F.solve(np.array([[3.0, 4], [3, 4]])).round(12).tolist()
    [[4.0, 3.0], [1.0, 1.0]]

    >>> from scipy.sparse import csr_array
    >>> K = csr_array([[2.0, 0, 1], [0, 3, 1], [1, 1, 0]])
    >>> F = pymetapack.ldl_batch(K, np.array([K.data, 2 * K.data, -K.data]))
    >>> F.inertia.tolist()
    [[2, 1, 0], [2, 1, 0], [1, 2, 0]]
    >>> F.solve(np.array([[3.0, 4, 2], [6, 8, 4], [-3, -4, -2]])).round(12).tolist()
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]

    >>> F = pymetapack.ldl_batch([K, csr_array([[0.0, 2], [2, 1]])])
    >>> [x.round(12).tolist() for x in F.solve([np.array([3.0, 4, 2]), np.array([2.0, 3])])]
    [[1.0, 1.0, 1.0], [1.0, 1.0]]
    """
    refuse_iterator(A, "the matrices")
    if isinstance(A, (list, tuple)) and not A:
        raise ValueError("the list of matrices is empty")
    some = matrices(A)
    if some is not None and values is not None:
        raise TypeError("a list of matrices and values: values are of one matrix; those of a list "
                        "are its own")  # fmt: skip
    if values is not None or some is not None:
        if (method, pivoting, sizes) != ("ldlt", "partial", None):
            raise TypeError("method, pivoting and sizes are of small dense matrices alone")
        full = {"threads": threads, "zero_tolerance": zero_tolerance, **options}
        if values is not None:
            return SystemsFactor(A, values, lower, hermitian, expected, keep, certify, progress,
                                 full, general)  # fmt: skip
        if expected:
            raise TypeError("expected is of systems of one pattern: ldl_batch(A, values)")
        assert some is not None
        return MixedFactor(some, lower, hermitian, keep, certify, progress, full, general)
    if options or expected or not keep or certify or general or progress is not None:
        raise TypeError("options of sparse systems, but no values: ldl_batch(A, values)")
    lower = True if lower is None else lower
    factor = BatchFactor(_take(A, "the matrices"), lower, hermitian, method, pivoting, sizes,
                         threads, zero_tolerance)  # fmt: skip
    none = int((factor.outcome >= lib.MPK_BATCH_BREAKDOWN).sum())
    singular = int((factor.outcome == lib.MPK_BATCH_SINGULAR).sum())
    if none:
        warnings.warn(f"{none} of {factor.count} matrices have no factors (see outcome)",
                      MetapackWarning, stacklevel=2)  # fmt: skip
    elif singular:
        warnings.warn(f"{singular} of {factor.count} matrices are singular (see outcome)",
                      ZeroPivotWarning, stacklevel=2)  # fmt: skip
    return factor


def batch_gemm(A: VectorLike, B: VectorLike, C: Optional[VectorLike] = None, *,
               alpha: float = 1.0, beta: float = 0.0, D: Optional[VectorLike] = None,
               transpose_b: str = "n", hermitian: bool = False, threads: int = 0) -> Array:  # fmt: skip
    """alpha A D op(B) + beta C for many small matrices.

    A : (count, m, k)    B : (count, k, n), or (count, n, k) with transpose_b "t" or "c"
    C : (count, m, n), optional    D : (count, k, k), block diagonal as BatchFactor.D; identity
    m, n, k at most 64.  Returns (count, m, n).

    >>> import numpy as np, pymetapack
    >>> A = np.arange(12.0).reshape(2, 2, 3)
    >>> np.allclose(pymetapack.batch_gemm(A, A, transpose_b="t"), A @ A.transpose(0, 2, 1))
    True
    """
    if transpose_b not in ("n", "t", "c"):
        raise ValueError("transpose_b must be 'n', 't' or 'c'")
    left, right = _take(A, "A"), _take(B, "B")
    added = None if C is None else _take(C, "C")
    middle = None if D is None else _take(D, "D")
    arrays = [x for x in (left, right, added, middle) if x is not None]
    dtype = working_dtype(np.result_type(*arrays), "the product")
    count, m, k = left.shape
    n = right.shape[2] if transpose_b == "n" else right.shape[1]
    inner = right.shape[1] if transpose_b == "n" else right.shape[2]
    if right.shape[0] != count or inner != k:
        raise ValueError(f"A {left.shape} and B {right.shape} do not fit")
    if added is not None and added.shape != (count, m, n):
        raise ValueError(f"C has shape {added.shape}, not {(count, m, n)}")
    if added is None and beta != 0:
        raise ValueError("beta is not zero and C is missing")
    a, b = _columns(left, dtype), _columns(right, dtype)
    c = np.zeros((count, n, m), dtype) if added is None else _columns(added, dtype)
    if c.size == 0:
        return c.transpose(0, 2, 1)
    d = ffi.NULL
    if middle is not None:
        full = np.asarray(middle, dtype=dtype)
        if full.shape != (count, k, k):
            raise ValueError(f"D has shape {full.shape}, not {(count, k, k)}")
        # two numbers for each j, D(j, j) and D(j + 1, j): a 2 x k matrix by columns
        parts = np.zeros((count, k, 2), dtype)
        j = np.arange(k)
        parts[:, :, 0] = full[:, j, j]
        parts[:, : k - 1, 1] = full[:, j[1:], j[:-1]]
        d = _array(parts)
    batch = ffi.new("mpk_batch *")
    lib.mpk_batch_init(batch)
    batch.scalar, batch.symmetry, batch.count = SCALARS[dtype], int(hermitian), count
    batch.threads = int(threads)
    product = ffi.new("mpk_batch_product *")
    product.m, product.n, product.k = m, n, k
    product.transpose_b = "ntc".index(transpose_b)
    product.alpha, product.beta = float(alpha), float(beta)
    context = Context()
    status = context.call(lib.mpk_batch_gemm, batch, product, _array(a), d, _array(b), _array(c),
                          long=c.size * k > _LONG)  # fmt: skip
    context.check(status)
    return np.ascontiguousarray(c.transpose(0, 2, 1))
