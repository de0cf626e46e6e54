# SPDX-License-Identifier: BSD-3-Clause
"""Rows and columns added to a factorized matrix, and rows of it removed: active sets."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Dict, Optional

import numpy as np
from numpy.typing import ArrayLike

from ._context import Context
from ._errors import ArgumentError, ZeroPivotWarning
from ._lib import ffi, lib
from ._matrix import host_array, pointer, working_dtype
from ._options import Options, as_dict
from ._types import Array, DType, OptionValue
from ._vectors import solve_columns
from ._verdict import judge

if TYPE_CHECKING:
    from ._factor import Certificate, Factor, Inertia

__all__ = ["Bordered"]


class Bordered:
    """A factorized matrix of order n with rows added and removed, made by :meth:`Factor.bordered`.

    Indices 0 to n - 1 are the rows of the factorized matrix, n to n + capacity - 1 places for added
    ones.  Right-hand sides and solutions have ``size`` = n + capacity entries, by index; those of
    removed rows and free places are not read, and 0 in a solution.  New values for the factor end it.

    >>> import numpy as np, pymetapack
    >>> F = pymetapack.ldl(np.diag([1.0, 2, 4]))
    >>> W = F.bordered(2)
    >>> W.add([0, 1, 2], [1, 1, 1])          # a constraint: x0 + x1 + x2 = 7
    3
    >>> W.solve([0, 0, 0, 7, 0]).round(12)
    array([ 4.,  2.,  1., -4.,  0.])
    >>> W.remove(2)                           # x2 = 0
    >>> W.solve([0, 0, 0, 6, 0]).round(12), W.inertia
    (array([ 4.,  2.,  0., -4.,  0.]), Inertia(positive=2, negative=1, zero=0))
    """

    shape: tuple[int, int]
    dtype: DType

    def __init__(self, factor: "Factor", capacity: int, options: Dict[str, OptionValue]) -> None:
        self._factor = factor
        self._ctx = Context()
        self._options: Options = factor._options.copy(self._ctx, options)
        self._solve_info = ffi.new("mpk_solve_info *")
        self.dtype = factor.dtype
        self.size = factor.shape[0] + int(capacity)
        self._w = self._ctx.own("bordered")
        with factor._ctx.lock:
            factor._ctx.pointer  # not closed
            self._ctx.check(self._ctx.call(lib.mpk_bordered_create, factor._fac[0], int(capacity),
                                           self._options.pointer, self._w))  # fmt: skip
            self._ctx.borrow(factor._ctx, self._w, "bordered")

    def _call(self, function: Any, *args: Any, long: bool = False) -> int:
        with self._factor._ctx.lock:
            self._factor._ctx.pointer  # not closed
            return self._ctx.check(self._ctx.call(function, self._w[0], *args, long=long))

    def _column(self, values: ArrayLike, what: str) -> Array:
        given = host_array(values, what)
        if not np.can_cast(working_dtype(given.dtype, what), self.dtype, "same_kind"):
            raise TypeError(f"{what} of {given.dtype} do not go into a {self.dtype} matrix")
        return np.ascontiguousarray(given, self.dtype)

    # ---- changes ---------------------------------------------------------------------------------

    def add(self, rows: ArrayLike, values: ArrayLike, diagonal: complex = 0) -> int:
        """Add a row and column; its index.

        rows : distinct indices of rows there are
        values : the new column's entries in these rows; the new row has their transposes
        diagonal : the entry on the diagonal
        """
        given = np.atleast_1d(np.asarray(rows))
        if given.size and given.dtype.kind not in "iu":
            raise TypeError(f"the rows are indices, not {given.dtype}")
        if given.size and (given.min() < 0 or given.max() >= self.size):
            raise IndexError(f"rows from {given.min()} to {given.max()}; there are {self.size} indices")
        row = np.ascontiguousarray(given, np.int32)
        value = self._column(np.atleast_1d(np.asarray(values)), "the values")
        if row.ndim != 1 or row.shape != value.shape:
            raise ValueError(f"{row.shape} rows and {value.shape} values: a list of each")
        corner = self._column(np.atleast_1d(np.asarray(diagonal)), "the diagonal")
        if corner.shape != (1,):
            raise ValueError("the diagonal is one number")
        index = ffi.new("int32_t *")
        self._call(lib.mpk_bordered_add, len(row), pointer(row), pointer(value), pointer(corner), index,
                   long=self._factor._long)  # fmt: skip
        return int(index[0])

    def remove(self, index: int) -> None:
        """Remove a row and its column: one of the factorized matrix, or an added one."""
        self._call(lib.mpk_bordered_remove, int(index), long=self._factor._long)

    def restore(self, index: int) -> None:
        """Take back the removal of a row of the factorized matrix."""
        self._call(lib.mpk_bordered_restore, int(index))

    # ---- what there is ---------------------------------------------------------------------------

    def solve(self, b: ArrayLike) -> Array:
        """Solve with the changed matrix, refined against it; of the shape of b, (size,) or (size, k).

        Warns and raises as :meth:`Factor.solve` does: InaccurateWarning says to factorize anew;
        and ZeroPivotWarning where the changed matrix is singular and x a solution all the same.
        """
        status, message = 0, ""

        def run(side: Array, x: Array) -> None:
            nonlocal status, message
            count = 1 if side.ndim == 1 else side.shape[1]
            with self._ctx.lock:
                status = self._call(lib.mpk_bordered_solve, count, pointer(side.T), self.size,
                                    pointer(x.T), self.size, self._solve_info,
                                    long=self._factor._long)  # fmt: skip
                message = self._ctx.message()[2] if status else ""

        x = solve_columns(b, self.size, self.dtype, None, run)
        judge(status, self._solve_info, x, False, message, 2)
        if status == lib.MPK_SINGULAR:
            warnings.warn(f"{message}; the solution is one of many", ZeroPivotWarning, stacklevel=2)
        return x

    def _info(self) -> Any:
        self._ctx.pointer  # not closed
        info = ffi.new("mpk_bordered_info *")
        lib.mpk_bordered_info_get(self._w[0], info)
        return info

    @property
    def certificate(self) -> "Certificate":
        """Is the inertia that is counted that of the changed matrix?"""
        from ._factor import certificate_of

        found = ffi.new("mpk_certificate *")
        self._call(lib.mpk_bordered_certify, found, long=self._factor._long)
        return certificate_of(found)

    @property
    def certified(self) -> bool:
        return self.certificate.certified

    @property
    def inertia(self) -> "Inertia":
        """Positive, negative and zero eigenvalues of the changed matrix."""
        from ._factor import Inertia

        if self.dtype.kind == "c" and not self._factor.hermitian:
            raise ArgumentError("a complex symmetric matrix has no inertia", "argument", "bordered")
        certificate = self.certificate
        counts = self._info().inertia
        found = Inertia(int(counts.positive), int(counts.negative), int(counts.zero))
        found._ask = lambda: certificate
        return found

    @property
    def added(self) -> int:
        return int(self._info().added)

    @property
    def removed(self) -> int:
        return int(self._info().removed)

    @property
    def refactorize(self) -> bool:
        """Is a factorization of the changed matrix advised?  No place is left, or solves cost more than
        with a new factor, or one was not accurate."""
        return bool(self._info().refactorize)

    def stats(self) -> Dict[str, Any]:
        """The fields of mpk_bordered_info, and under "solve" those of the last solve."""
        return {**as_dict(self._info()[0]), "solve": as_dict(self._solve_info[0])}

    def close(self) -> None:
        """Give the memory back now; the factor stays."""
        lib.mpk_bordered_destroy(self._w)
        self._ctx.close()

    def __enter__(self) -> "Bordered":
        self._ctx.pointer  # not closed
        return self

    def __exit__(self, *_: Optional[object]) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._ctx.closed:
            return "<Bordered, closed>"
        return f"<Bordered: {self._factor.shape[0]} rows, {self.added} added, {self.removed} removed>"
