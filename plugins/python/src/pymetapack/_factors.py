# SPDX-License-Identifier: BSD-3-Clause
"""Factors of many matrices with one pattern, analysed once: of the same values the same factor."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import Any, Dict, List, Optional, Union

import numpy as np
import scipy.sparse as sp

from ._adjoint import Layout
from ._context import Context
from ._errors import SingularMatrixError, UnsupportedError
from ._factor import Factor
from ._lib import lib
from ._options import Options
from ._selected import select
from ._systems import SystemsFactor
from ._types import Array, OptionValue

_MANY = 4  # matrices that are factorized side by side


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


class _Loan:
    """Gives systems back to those that are free: as :class:`_Lease`."""

    def __init__(self, systems: SystemsFactor, free: "deque[SystemsFactor]") -> None:
        self.systems, self._free = systems, free

    def __del__(self) -> None:
        free = getattr(self, "_free", None)
        if free is not None:
            free.append(self.systems)


class Together:
    """Factors of many matrices side by side (:func:`pymetapack.ldl_batch`), all of them good, and the
    values they are of."""

    def __init__(self, loan: _Loan, values: Array) -> None:
        self._loan, self.values, self._lock = loan, values, threading.Lock()

    def solve(self, b: Array) -> Optional[Array]:
        """x of b (count, n, k); None: one of them is in doubt, and is for a factor of its own."""
        with self._lock:
            systems = self._loan.systems
            x = systems.solve(b)
            return None if systems.status.any() else x


Kind = Union[Held, Together]


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
        self._many: Optional[Together] = None  # the last ones
        self._free: "Dict[Any, deque[SystemsFactor]]" = {}  # for each type and number
        self._alone = False  # the options are for factors one by one
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

    def _together(self, matrices: Array) -> Optional[Together]:
        """All of them side by side; None: they are few, some are alike, singular or in doubt, or all have
        factors."""
        if len(matrices) < _MANY or self._alone:
            return None
        last = self._many
        if last is not None and np.array_equal(last.values, matrices):
            return last
        keys = {(values.dtype.char, values.tobytes()) for values in matrices}
        if len(keys) < len(matrices) or all(key in self._known for key in keys):
            return None
        self._many = last = None  # before other ones take memory
        with self._lock:
            free = self._free.setdefault((matrices.dtype.char, len(matrices)), deque(maxlen=1))
        values = matrices.copy()
        try:
            systems = free.popleft()
            systems.factorize(values)
        except IndexError:
            try:
                systems = self._systems(values)
            except UnsupportedError:
                self._alone = True
                return None
        found = Together(_Loan(systems, free), values)
        if systems.status.any():
            return None
        with self._lock:
            self.count += len(matrices)
            self._many = found
        return found

    def _systems(self, values: Array) -> SystemsFactor:
        layout = self.layout
        A = sp.csc_matrix((values[0], layout.rows, layout.indptr), (layout.n, layout.n))
        return SystemsFactor(A, values, True, layout.hermitian, 0, True, False, None, self.options,
                             quiet=True)  # fmt: skip

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
        self, packed: Array, b: Array, held: Optional[List[Kind]] = None
    ) -> tuple[Array, List[Kind]]:
        """x of b (..., n, k) with l (..., size); batch dimensions are broadcast."""
        batch = np.broadcast_shapes(packed.shape[:-1], b.shape[:-2])
        k = b.shape[-1]
        matrices = self._flat(packed, batch)
        x = np.empty((*batch, self.layout.n, k), b.dtype)
        if x.size == 0:
            return x, held or []
        many = self._side_by_side(held, matrices)
        if many is not None:
            found = many.solve(np.broadcast_to(b, x.shape).reshape(-1, *x.shape[-2:]))
            if found is not None:
                x[...] = found.reshape(x.shape)
                return x, [many]
        each = self._still(held, matrices)
        if len(each) == 1:
            sides = np.moveaxis(np.broadcast_to(b, x.shape).reshape(-1, self.layout.n, k), 1, 0)
            found = each[0].factor.solve(sides.reshape(self.layout.n, -1))
            x[...] = np.moveaxis(found.reshape(self.layout.n, -1, k), 1, 0).reshape(x.shape)
            return x, [*each]
        flat, sides = x.reshape(-1, self.layout.n, k), np.broadcast_to(b, x.shape)
        for one, side, out in zip(each, sides.reshape(-1, self.layout.n, k), flat):
            out[...] = one.factor.solve(side)
        return x, [*each]

    def _flat(self, packed: Array, batch: tuple[int, ...]) -> Array:
        """(1, size) where all are the same, else one for each of the batch."""
        if packed.size == self.layout.size and np.prod(packed.shape[:-1], dtype=int) == 1:
            return packed.reshape(1, self.layout.size)
        shape = (*batch, self.layout.size)
        return np.broadcast_to(packed, shape).reshape(int(np.prod(batch)), self.layout.size)

    def _still(self, held: Optional[List[Kind]], matrices: Array) -> list[Held]:
        """What is held, if it is of these values, a factor each; otherwise found or made."""
        each = [h for h in held or [] if isinstance(h, Held)]
        if each and len(each) == len(matrices):
            if all(np.array_equal(h.values, v) for h, v in zip(each, matrices)):
                return each
        return self.of(matrices)

    def _side_by_side(self, held: Optional[List[Kind]], matrices: Array) -> Optional[Together]:
        """Likewise of factors side by side; None: they are better alone, or held so."""
        if held and isinstance(held[0], Together) and np.array_equal(held[0].values, matrices):
            return held[0]
        if held and len(held) == len(matrices):
            if all(np.array_equal(h.values, v) for h, v in zip(held, matrices)):
                return None
        return self._together(matrices)

    def slogdet(
        self, packed: Array, held: Optional[List[Kind]] = None
    ) -> tuple[Array, Array, List[Kind]]:
        """(sign, log|det|) of l (..., size)."""
        matrices = self._flat(packed, packed.shape[:-1])
        each = self._still(held, matrices)
        sign = np.empty(len(each), packed.dtype)
        log = np.empty(len(each), packed.real.dtype)
        for k, one in enumerate(each):
            sign[k], log[k] = one.factor.slogdet
        return sign.reshape(packed.shape[:-1]), log.reshape(packed.shape[:-1]), [*each]

    def selected(
        self, packed: Array, held: Optional[List[Kind]] = None
    ) -> tuple[Array, List[Kind]]:
        """The entries of A⁻¹ in the places of l, in the order of l.

        SingularMatrixError: there is none."""
        matrices = self._flat(packed, packed.shape[:-1])
        each = self._still(held, matrices)
        z = np.empty(packed.shape, packed.dtype)
        if z.size:
            for one, out in zip(each, z.reshape(-1, self.layout.size)):
                out[...] = select(one.factor, lib.MPK_SELECT_PATTERN, None, 7)
        return z, [*each]

    def regular(self, packed: Array) -> None:
        """SingularMatrixError: nothing has a derivative in A's values."""
        matrices = self._flat(packed, packed.shape[:-1])
        if self._together(matrices) is None:
            self.check([*self.of(matrices)])

    def check(self, held: List[Kind]) -> None:
        for one in held:
            if isinstance(one, Together):
                continue  # they are there because none is singular
            zero = self.layout.n - one.factor.rank
            if zero:
                raise SingularMatrixError(
                    f"the matrix is singular ({zero} zero pivots of {self.layout.n}): nothing has a "
                    "derivative in its values", "singular", "solve")  # fmt: skip


def again(kind: Any, n: int, rows: Array, cols: Array, told: Dict[str, Any]) -> Any:
    """A solver as :meth:`Factors.recipe` has it."""
    return kind(sp.coo_matrix((np.ones(len(rows), np.float32), (rows, cols)), (n, n)), **told)
