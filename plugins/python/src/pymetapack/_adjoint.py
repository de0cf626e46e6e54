# SPDX-License-Identifier: BSD-3-Clause
"""Derivatives of A⁻¹ b and log det A in the values of a fixed pattern.

The values that a caller gives, of one triangle or of both, go into the lower triangle by columns,
l, and A depends on l.  With G = ∂L/∂A as if all entries of A were free, an entry below the diagonal
stands for itself and for its mirror image, so ∂L/∂l_ij = G_ij + G_ji (Hermitian A: + conj(G_ji)),
on the diagonal G_ii (its real part).  Where both triangles are given each entry has half of that:
the gradient has A's own symmetry, and a step along it keeps A symmetric.

Conjugation is PyTorch's: the gradient of a real L is ∂L/∂(re) + i ∂L/∂(im), so Gᴴ pairs with dA.
JAX has the conjugate of it.  Arrays may have any number of batch dimensions in front.
"""

from __future__ import annotations

import threading
from typing import Any, Optional

import numpy as np
import scipy.sparse as sp

from ._check import check_order, check_range, check_sparse
from ._context import Context
from ._errors import PatternError
from ._lib import ffi, lib
from ._matrix import Matrix, copy_array, destroy_problem, view_of
from ._types import Array
from ._verdict import tell_apart


class Layout:
    """A pattern: where each value of the caller's goes.

    Parameters
    ----------
    n : int
    rows, cols : int arrays of shape (nnz,)
        Place of each value, in the caller's order; those that fall together are summed.
    lower : bool, optional
        Which triangle counts; None: both, and then the pattern must be symmetric.
    hermitian : bool
    tolerance : float
        The option ``symmetry_tolerance``.
    """

    def __init__(self, n: int, rows: Array, cols: Array, lower: Optional[bool], hermitian: bool,
                 tolerance: Any = -1.0) -> None:  # fmt: skip
        self.n, self.nnz = n, len(rows)
        self.lower, self.hermitian = lower, hermitian
        self._tolerance = float(tolerance)
        for x, name in ((rows, "row"), (cols, "col")):
            check_range(x, n, name, "the matrix")
        self.given = (rows.astype(np.int32), cols.astype(np.int32))
        counts = np.ones(len(rows), bool)
        if lower is not None:
            counts = rows >= cols if lower else rows <= cols
        self.mirrored: Array = rows < cols
        low, high = np.maximum(rows, cols).astype(np.int64), np.minimum(rows, cols).astype(np.int64)
        places, slot = np.unique((high * n + low)[counts], return_inverse=True)
        self.cols, self.rows = np.divmod(places, max(1, n))
        self.diagonal: Array = self.rows == self.cols
        self._half = np.where(self.diagonal, 0.5, 1.0)
        #: Entry of l for each value; -1: it does not count
        self.slot: Array = np.full(len(rows), -1, np.int64)
        self.slot[counts] = slot
        self.weight: Array = counts.astype(np.float64)
        if lower is None:
            self._check_mirror(rows, cols)
            self.weight[rows != cols] = 0.5
        self.indptr: Array = np.searchsorted(self.cols, np.arange(n + 1)).astype(np.int64)
        self.simple = len(places) == counts.sum() if lower is not None else False
        turned = hermitian and lower is False
        self.same = bool(
            self.simple and not turned and np.array_equal(self.slot, np.arange(len(places)))
        )
        self._pairs = self._two_of_each() if lower is None else None

    @property
    def size(self) -> int:
        """Entries of l."""
        return len(self.rows)

    def _check_mirror(self, rows: Array, cols: Array) -> None:
        upper = np.zeros(self.size, bool)
        below = np.zeros(self.size, bool)
        upper[self.slot[rows < cols]] = True
        below[self.slot[rows > cols]] = True
        alone = np.flatnonzero(upper != below)
        if len(alone):
            i, j = int(self.rows[alone[0]]), int(self.cols[alone[0]])
            if upper[alone[0]]:
                i, j = j, i
            raise PatternError(
                f"the pattern has row {i}, column {j} and not row {j}, column {i}: give both triangles, "
                "or one of them with lower=True or lower=False", "argument", "pattern")  # fmt: skip

    def _two_of_each(self) -> Optional[tuple[Array, Array]]:
        """Where the value of each entry of l and that of its mirror image are, without duplicates."""
        if self.nnz != 2 * self.size - int(self.diagonal.sum()):
            return None
        at, other = np.zeros(self.size, np.int64), np.zeros(self.size, np.int64)
        which = np.arange(self.nnz)
        at[self.slot[~self.mirrored]] = which[~self.mirrored]
        other[self.slot] = which  # of the diagonal the same; below it ...
        other[self.slot[self.mirrored]] = which[self.mirrored]
        return at, other

    # ---- values -> l -----------------------------------------------------------------------------

    def pack(self, values: Array) -> Array:
        """l of values (..., nnz), checked for symmetry as the library does.

        InputError: the triangles differ, or a Hermitian matrix has a diagonal that is not real.
        SymmetryWarning: they differ by more than rounding leaves; l is their mean."""
        if self.lower is not None:
            if not self.simple and not self.hermitian:
                return self.push(values)
            packed = values if self.same else self._gather(values)
            if not self.hermitian or (self.simple and not np.any(packed[..., self.diagonal].imag)):
                return packed
        elif self._pairs is not None:
            at, other = values[..., self._pairs[0]], values[..., self._pairs[1]]
            if np.array_equal(at, other.conj() if self.hermitian else other):
                return at
        flat = values.reshape(int(np.prod(values.shape[:-1])), self.nnz)
        by_library = [self._by_library(np.ascontiguousarray(one)) for one in flat]
        return np.array(by_library, values.dtype).reshape(*values.shape[:-1], self.size)

    def _gather(self, values: Array) -> Array:
        packed = np.empty((*values.shape[:-1], self.size), values.dtype)
        counts = self.slot >= 0
        turned = self.hermitian and self.lower is False
        packed[..., self.slot[counts]] = (
            values[..., counts].conj() if turned else values[..., counts]
        )
        return packed

    def _by_library(self, values: Array) -> Array:
        """The law of symmetry is in one place, the library."""
        context = Context()
        lib.mpk_context_set_symmetry_tolerance(context.pointer, self._tolerance)
        if self.lower is None:
            triangle = lib.MPK_FULL
        else:
            triangle = lib.MPK_LOWER if self.lower else lib.MPK_UPPER
        rows, cols = self.given
        order = np.lexsort((rows, cols))
        indptr = np.searchsorted(cols[order], np.arange(self.n + 1)).astype(np.int64)
        hermitian = self.hermitian and values.dtype.kind == "c"
        m = Matrix(self.n, values.dtype, hermitian, triangle, indptr, rows[order], values[order],
                   False, "csc")  # fmt: skip
        problem = m.problem(context)
        try:
            found = ffi.new("mpk_asymmetry *")
            lib.mpk_problem_asymmetry_get(problem[0], found)
            tell_apart(found, 6, "the matrix")
            return copy_array(view_of(problem).ax, self.size, values.dtype)
        finally:
            destroy_problem(problem)

    def push(self, tangent: Array) -> Array:
        """dl of d values, in NumPy: linear over the real numbers."""
        part = self.turn(tangent * self.weight, self.mirrored)
        counts = self.slot >= 0
        result = np.zeros((*tangent.shape[:-1], self.size), tangent.dtype)
        place: Any = (..., self.slot[counts])
        np.add.at(result, place, part[..., counts])
        if self.hermitian:
            result[..., self.diagonal] = result[..., self.diagonal].real
        return result

    def pull(self, gradient: Array) -> Array:
        """∂L/∂values of ∂L/∂l, in NumPy."""
        gradient = np.array(gradient)
        if self.hermitian:
            gradient[..., self.diagonal] = gradient[..., self.diagonal].real
        part = gradient[..., np.maximum(self.slot, 0)] * self.weight.astype(gradient.real.dtype)
        return self.turn(part, self.mirrored)

    def turn(self, x: Array, where: Array) -> Array:
        """Conjugated in these places, of a Hermitian matrix."""
        return np.where(where, x.conj(), x) if self.hermitian else x

    def pair(self, g: Array, x: Array) -> Array:
        """The entries in the places of l of g xᴴ + its mirror image, on the diagonal without, summed
        over columns (..., n, k).  Of x = A⁻¹ b is ∂L/∂l = - that, with g = A⁻ᴴ ∂L/∂x."""
        batch = np.broadcast_shapes(g.shape[:-2], x.shape[:-2])
        shape = (*batch, self.n, g.shape[-1])
        result = np.zeros((*batch, self.size), g.dtype)
        total = int(np.prod(batch))
        each = result.reshape(total, self.size)
        left, right = (np.broadcast_to(y, shape).reshape(total, *shape[-2:]) for y in (g, x.conj()))
        for k in range(total * shape[-1]):
            one, column = divmod(k, shape[-1])
            self._pair(left[one, :, column], right[one, :, column], each[one])
        return result

    def _pair(self, g: Array, x: Array, result: Array) -> None:
        """Added to the result."""
        part = self._products(g, x, self.rows, self.cols)
        other = self._products(g, x, self.cols, self.rows)
        part += other.conj() if self.hermitian else other
        part *= self._half.astype(part.real.dtype, copy=False)
        result += part

    @staticmethod
    def _products(g: Array, x: Array, rows: Array, cols: Array) -> Array:
        part = g.take(rows, mode="clip")
        part *= x.take(cols, mode="clip")
        return part


# ---- patterns ------------------------------------------------------------------------------------


def places_of(A: Any) -> tuple[Array, Array, int]:
    """Rows and columns of a SciPy matrix in the order of its values, and n."""
    if not sp.issparse(A):
        raise TypeError(f"a sparse matrix is wanted, not {type(A).__name__}")
    check_sparse(A)
    A = A if A.format in ("csr", "csc", "coo") else A.tocsc()
    if A.format == "coo":
        return np.asarray(A.row), np.asarray(A.col), square(A.shape)
    return (*compressed_places(A.indptr, A.indices, A.format == "csr"), square(A.shape))


def compressed_places(indptr: Array, indices: Array, by_rows: bool) -> tuple[Array, Array]:
    major = np.repeat(np.arange(len(indptr) - 1), np.diff(indptr))
    minor = indices[: indptr[-1]]
    return (major, minor) if by_rows else (minor, major)


def square(shape: tuple[int, ...]) -> int:
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"the matrix is {' x '.join(map(str, shape))}, not square")
    return check_order(int(shape[0]))


class Last(threading.local):
    """Of each thread: the pattern of its last call, and what was made of it."""

    _key: Any = None
    _made: Any = None

    def of(self, n: int, rows: Array, cols: Array, options: dict[str, Any], make: Any) -> Any:
        """``make(A, **options)``, with A in SciPy's COO format, or what it gave the last time."""
        words = sorted(f"{key} {np.asarray(value).tolist()}" for key, value in options.items())
        key: tuple[Any, ...] = (words, n, rows, cols)
        old = self._key
        if old is None or not all(np.array_equal(a, b) for a, b in zip(old, key)):
            ones = np.ones(len(rows), np.float32)
            self._made = make(sp.coo_matrix((ones, (rows, cols)), (n, n)), **options)
            self._key = (words, n, rows.copy(), cols.copy())
        return self._made


# ---- shapes --------------------------------------------------------------------------------------


def columns(b_ndim: int, b_shape: tuple[int, ...], v_shape: tuple[int, ...], n: int) -> bool:
    """Has b columns, (..., n, k), rather than being one vector, (n,), or one for each of the
    matrices, (..., n)?  ValueError: neither."""
    batch = tuple(v_shape[:-1])
    if b_ndim == 1 or (batch and tuple(b_shape) == (*batch, n)):
        if b_shape[-1] == n:
            return False
    elif b_ndim >= 2 and b_shape[-2] == n:
        return True
    raise ValueError(f"the right-hand side has shape {tuple(b_shape)}; (n,), (..., n) with the batch of "
                     f"the values {batch}, or (..., n, k) with n = {n} is wanted")  # fmt: skip


def value_count(shape: tuple[int, ...], nnz: int) -> None:
    if not shape or shape[-1] != nnz:
        raise PatternError(f"the values have shape {tuple(shape)}; (..., {nnz}) fits the pattern",
                           "argument", "values")  # fmt: skip
