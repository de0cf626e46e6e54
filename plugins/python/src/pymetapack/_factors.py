# SPDX-License-Identifier: BSD-3-Clause
"""Factors of many matrices with one pattern, analysed once: of the same values the same factor."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any, Dict, Optional

import numpy as np
import scipy.sparse as sp

from ._adjoint import Layout
from ._context import Context
from ._errors import SingularMatrixError
from ._factor import Factor
from ._lib import lib
from ._options import Options
from ._selected import select
from ._types import Array, OptionValue


class _Pool:
    """Of one type: the factor that was analysed, and some whose values nobody needs any more."""

    def __init__(self, most: int) -> None:
        self.first: Optional[Factor] = None
        self.free: "deque[Factor]" = deque(maxlen=most)

    def give(self, factor: Factor) -> None:
        """Called wherever the collector runs: no lock, single steps of a deque alone."""
        if factor is self.first:
            self.free.appendleft(factor)  # it stays in any case
        elif len(self.free) < (self.free.maxlen or 0):
            self.free.append(factor)


class _Lease:
    """Gives a factor back.  Not Held itself: while __del__ runs an object can still be found by weak
    references, and others would take it up again."""

    def __init__(self, factor: Factor, pool: _Pool) -> None:
        self.factor, self._pool = factor, pool

    def __del__(self) -> None:
        pool = getattr(self, "_pool", None)
        if pool is not None:  # torch.compile makes objects without __init__
            pool.give(self.factor)


class Held:
    """A factor and the values it is of.  When nothing refers to this any more, its memory serves the
    next values."""

    def __init__(self, factor: Factor, values: Array, pool: _Pool) -> None:
        self._lease, self.values = _Lease(factor, pool), values

    @property
    def factor(self) -> Factor:
        return self._lease.factor


class Factors:
    """Of a layout.  Any thread may use it; different values are factorized side by side.

    keep : int
        So many of the last factors stay, whether somebody holds them or not.
    """

    def __init__(
        self, layout: Layout, singular: str, keep: int, options: Dict[str, OptionValue]
    ) -> None:
        if keep < 1:
            raise ValueError("keep must be 1 or more")
        if singular not in ("warn", "raise", "ignore"):
            raise ValueError("singular must be 'warn', 'raise' or 'ignore'")
        options = dict(options)
        if options.setdefault("method", "ldlt") != "ldlt":
            raise ValueError("method must be 'ldlt': derivatives are those of direct factors")
        Options(Context(), options)  # an error here, and not when a program runs
        self.layout, self.options = layout, options
        self._singular, self._keep = singular, keep
        self._pools: Dict[Any, _Pool] = {}  # for each type
        self._known: "weakref.WeakValueDictionary[Any, Held]" = weakref.WeakValueDictionary()
        self._last: "deque[Held]" = deque()
        self._lock = threading.RLock()
        self.count = 0  # of factorizations

    def of(self, packed: Array) -> list[Held]:
        """A factor for each row of l, of shape (count, size)."""
        held: list[Held] = []
        for values in packed:
            held.append(self._of_one(values, max(self._keep, len(packed))))
        return held

    def _of_one(self, values: Array, keep: int) -> Held:
        key = (values.dtype.char, values.tobytes())
        with self._lock:
            found = self._known.get(key)
            while found is None and len(self._last) >= keep:
                self._last.popleft()  # before another one takes memory
        if found is None:
            found = Held(self._factorize(values), values.copy(), self._pool(values.dtype))
        with self._lock:
            self._known[key] = found
            if found in self._last:
                self._last.remove(found)
            self._last.append(found)
            while len(self._last) > keep:
                self._last.popleft()
        return found

    def _pool(self, dtype: Any) -> _Pool:
        return self._pools.setdefault(dtype, _Pool(self._keep))

    def _factorize(self, values: Array) -> Factor:
        pool = self._pool(values.dtype)
        with self._lock:
            self.count += 1
            if pool.first is None:
                layout = self.layout
                A = sp.csc_matrix((values, layout.rows, layout.indptr), (layout.n, layout.n))
                pool.first = Factor(
                    A, True, layout.hermitian, self._singular, None, self.options, stacklevel=7
                )
                return pool.first
        try:
            factor = pool.free.popleft()
        except IndexError:
            return pool.first.beside(values, 7)
        try:
            factor.renew(values, 7)
        except BaseException:
            pool.give(factor)
            raise
        return factor

    def recipe(self) -> tuple[Any, ...]:
        """What :func:`again` makes a solver of: for copy and pickle, without factors."""
        layout = self.layout
        told = dict(self.options, lower=layout.lower, hermitian=layout.hermitian, singular=self._singular,
                    keep=self._keep)  # fmt: skip
        return (layout.n, *layout.given, told)

    # ---- in NumPy --------------------------------------------------------------------------------

    def solve(
        self, packed: Array, b: Array, held: Optional[list[Held]] = None
    ) -> tuple[Array, list[Held]]:
        """x of b (..., n, k) with l (..., size); batch dimensions are broadcast."""
        batch = np.broadcast_shapes(packed.shape[:-1], b.shape[:-2])
        k = b.shape[-1]
        matrices = self._flat(packed, batch)
        held = self._still(held, matrices)
        x = np.empty((*batch, self.layout.n, k), b.dtype)
        if x.size == 0:
            return x, held
        if len(held) == 1:
            sides = np.moveaxis(np.broadcast_to(b, x.shape).reshape(-1, self.layout.n, k), 1, 0)
            found = held[0].factor.solve(sides.reshape(self.layout.n, -1))
            x[...] = np.moveaxis(found.reshape(self.layout.n, -1, k), 1, 0).reshape(x.shape)
            return x, held
        flat, sides = x.reshape(-1, self.layout.n, k), np.broadcast_to(b, x.shape)
        for one, side, out in zip(held, sides.reshape(-1, self.layout.n, k), flat):
            out[...] = one.factor.solve(side)
        return x, held

    def _flat(self, packed: Array, batch: tuple[int, ...]) -> Array:
        """(1, size) where all are the same, else one for each of the batch."""
        if packed.size == self.layout.size and np.prod(packed.shape[:-1], dtype=int) == 1:
            return packed.reshape(1, self.layout.size)
        shape = (*batch, self.layout.size)
        return np.broadcast_to(packed, shape).reshape(int(np.prod(batch)), self.layout.size)

    def _still(self, held: Optional[list[Held]], matrices: Array) -> list[Held]:
        """What is held, if it is of these values; otherwise found or made."""
        if held and len(held) == len(matrices):
            if all(np.array_equal(h.values, v) for h, v in zip(held, matrices)):
                return held
        return self.of(matrices)

    def slogdet(
        self, packed: Array, held: Optional[list[Held]] = None
    ) -> tuple[Array, Array, list[Held]]:
        """(sign, log|det|) of l (..., size)."""
        matrices = self._flat(packed, packed.shape[:-1])
        held = self._still(held, matrices)
        sign = np.empty(len(held), packed.dtype)
        log = np.empty(len(held), packed.real.dtype)
        for k, one in enumerate(held):
            sign[k], log[k] = one.factor.slogdet
        return sign.reshape(packed.shape[:-1]), log.reshape(packed.shape[:-1]), held

    def selected(
        self, packed: Array, held: Optional[list[Held]] = None
    ) -> tuple[Array, list[Held]]:
        """The entries of A⁻¹ in the places of l, in the order of l.

        SingularMatrixError: there is none."""
        matrices = self._flat(packed, packed.shape[:-1])
        held = self._still(held, matrices)
        z = np.empty(packed.shape, packed.dtype)
        if z.size:
            for one, out in zip(held, z.reshape(-1, self.layout.size)):
                out[...] = select(one.factor, lib.MPK_SELECT_PATTERN, None, 7)
        return z, held

    def regular(self, packed: Array) -> None:
        """SingularMatrixError: nothing has a derivative in A's values."""
        self.check(self.of(self._flat(packed, packed.shape[:-1])))

    def check(self, held: list[Held]) -> None:
        for one in held:
            zero = self.layout.n - one.factor.rank
            if zero:
                raise SingularMatrixError(
                    f"the matrix is singular ({zero} zero pivots of {self.layout.n}): nothing has a "
                    "derivative in its values", "singular", "solve")  # fmt: skip


def again(kind: Any, n: int, rows: Array, cols: Array, told: Dict[str, Any]) -> Any:
    """A solver as :meth:`Factors.recipe` has it."""
    return kind(sp.coo_matrix((np.ones(len(rows), np.float32), (rows, cols)), (n, n)), **told)
