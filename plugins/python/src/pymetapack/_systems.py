# SPDX-License-Identifier: BSD-3-Clause
"""Many sparse systems at once, of one pattern or of several (docs/guide/systems.md)."""

from __future__ import annotations

import warnings
from collections import Counter
from typing import Any, Dict, Iterator, NoReturn, Optional, Sequence, Union

import numpy as np
import scipy.sparse as sp

from ._context import Context, Progress
from ._device import Lent, Link, deliver, gpu_of, lies_there, maker_of
from ._errors import InaccurateWarning, MetapackError, MetapackWarning, ZeroPivotWarning
from ._lib import ffi, lib, text
from ._matrix import (
    SCALARS, Matrix, destroy_problem, host_array, pointer, take, take_there, working_dtype,
)  # fmt: skip
from ._options import Options
from ._types import Array, MatrixLike, OptionValue, VectorLike

__all__ = ["MixedFactor", "SystemsFactor"]

Values = Union[VectorLike, Sequence[Any]]


def _array(a: Union[Array, Lent], ld: int) -> Any:
    """mpk_batch_array of systems that follow each other, in either memory."""
    operand = ffi.new("mpk_batch_array *")
    there = isinstance(a, Lent)
    operand.layout = lib.MPK_BATCH_STRIDED
    operand.memory = lib.MPK_DEVICE if there else lib.MPK_HOST
    operand.data = a.address if there else pointer(a)
    operand.stride = max(1, a.size // max(1, a.shape[0]))
    operand.ld = max(1, ld)
    return operand


def _listed(at: Sequence[Array], ld: int) -> tuple[Any, Any]:
    """mpk_batch_array of systems that lie anywhere, and what must stay alive with it.  ld 0: columns
    of each follow each other."""
    empty = ffi.new("double[2]")  # a matrix without entries has an address, too
    where = ffi.new("void *[]", [ffi.cast("void *", pointer(a) if a.size else empty) for a in at])
    operand = ffi.new("mpk_batch_array *")
    operand.layout = lib.MPK_BATCH_POINTERS
    operand.data = where
    operand.ld = ld
    return operand, (where, empty)


def matrices(A: Any, what: str = "the list") -> Optional[list[Any]]:
    """A list of sparse matrices, where A is one."""
    if not isinstance(A, (list, tuple)):
        return None
    dense = [k for k, one in enumerate(A) if not sp.issparse(one)]
    if len(dense) == len(A):
        return None
    if dense:
        raise TypeError(f"matrix {dense[0]} of {what} is not sparse, but of type "
                        f"{type(A[dense[0]]).__name__}, and others are")  # fmt: skip
    return list(A)


def refuse_iterator(x: Any, what: str) -> None:
    if isinstance(x, Iterator):
        raise TypeError(f"{what}: a list is wanted, not a {type(x).__name__}; give list(...) of it")


class _Systems:
    """What is told of each system, and the calls."""

    count: int
    n: Any
    dtype: Any
    _ctx: Context
    _systems: Any
    _progress: Optional[Progress]
    _certify: bool
    _link: Link
    _quiet = False  # a status is enough, no warnings

    def __repr__(self) -> str:
        n = np.atleast_1d(self.n)
        order = "none" if not n.size else f"order {n.min()}" + ("" if n.min() == n.max() else f" to {n.max()}")
        told = ", ".join(f"{k} {word}" for word, k in Counter(self.words).most_common())
        return f"<Factors of {self.count} systems, {order}, {self.dtype}: {told or 'none'}>"

    def _begin(self) -> None:
        every = self.count
        self.status = np.full(every, lib.MPK_ERR_ARGUMENT, np.int32)
        self.tier, self.rank = np.zeros(every, np.int32), np.zeros(every, np.int32)
        self.steps, self._certified = np.zeros(every, np.int32), np.zeros(every, np.int32)
        self.inertia = np.zeros((every, 3), np.int64)
        self.omega, self.normwise = np.full(every, np.nan), np.full(every, np.nan)
        self.growth, self.logdet = np.zeros(every), np.zeros((every, 3))

    def _how(self, expected: int, keep: bool) -> Any:
        how = ffi.new("mpk_systems_options *")
        lib.mpk_systems_options_init(how)
        self._keep = bool(keep)
        how.expected, how.keep = int(expected), int(self._keep)
        return how

    def _mask(self, mask: Optional[VectorLike]) -> Any:
        if mask is None:
            return ffi.NULL
        if lies_there(mask):
            mask = self._link.fetch(maker_of(mask), mask, "the mask")
        given = np.asarray(mask)
        if given.dtype != bool or given.shape != (self.count,):
            raise ValueError(f"mask must be a bool array of shape ({self.count},)")
        self._kept_mask = given.astype(np.uint8)
        return ffi.from_buffer("uint8_t[]", self._kept_mask) if self.count else ffi.NULL

    def _results(self) -> Any:
        r = ffi.new("mpk_systems_results *")
        for name in ("status", "tier", "rank", "steps"):
            setattr(r, name, ffi.cast("int32_t *", pointer(getattr(self, name))))
        if self._certify:
            r.certified = ffi.cast("int32_t *", pointer(self._certified))
        r.inertia = ffi.cast("int64_t *", pointer(self.inertia))
        for name in ("growth", "omega", "normwise", "logdet"):
            setattr(r, name, ffi.cast("double *", pointer(getattr(self, name))))
        return r

    def _lose(self, which: Array) -> None:
        """Systems that have no factors any more; of those no call writes results."""
        self.tier[which], self.status[which] = lib.MPK_TIER_NONE, lib.MPK_ERR_ARGUMENT

    def _run(self, function: Any, given: Any, mask: Optional[VectorLike]) -> None:
        """A factorization, of values as mpk_batch_array."""
        at_work = self._mask(mask)
        active = np.ones(self.count, bool) if mask is None else self._kept_mask != 0

        def work(*args: Any) -> int:  # what it says counts, although Ctrl-C may hide it
            status = int(function(*args))
            if status != lib.MPK_ERR_ARGUMENT:  # else nothing was changed
                if not self._keep:
                    self._lose(~active & (self.tier != lib.MPK_TIER_NONE))
                if status < 0:
                    self._lose(active)
            return status

        status = self._ctx.call(work, self._systems[0], given, at_work, self._results(),
                                long=True, progress=self._progress)  # fmt: skip
        self._tell(status, 5)

    def _tell(self, status: int, stacklevel: int = 3) -> None:
        self._ctx.check(status)
        if status == 0 or self._quiet:
            return
        kind = {lib.MPK_SINGULAR: ZeroPivotWarning, lib.MPK_INACCURATE: InaccurateWarning}
        warnings.warn(self._ctx.message()[2] + " (see status)", kind.get(status, MetapackWarning),
                      stacklevel=stacklevel)  # fmt: skip

    @property
    def certified(self) -> Array:
        return self._certified.astype(bool)

    @property
    def words(self) -> list[str]:
        """Each status in a word: "ok", "singular", ..."""
        return [text(lib.mpk_status_name(int(status))) for status in self.status]

    def refused(self, number: int) -> Optional[Dict[str, int]]:
        """Which number the last call refused system `number` for, whose word is "input": of its values
        `entry`, in the order in which they were given, at `row` and `column`; of b `row` and `side`.
        None: triangles that differ, or the like; the text of the warning has it."""
        why = ffi.new("mpk_systems_refusal *")
        self._ctx.check(self._ctx.call(lib.mpk_systems_refused, self._systems[0], int(number), why))
        if why.what == lib.MPK_REFUSED_VALUE:
            return {"entry": why.entry, "row": why.row, "column": why.column}
        return {"row": why.row, "side": why.column} if why.what == lib.MPK_REFUSED_SIDE else None

    @property
    def info(self) -> Dict[str, Any]:
        """mpk_systems_info: who works on them, what they take."""
        info = ffi.new("mpk_systems_info *")
        lib.mpk_systems_info_get(self._systems[0], info)
        names = ("count", "patterns", "by_template", "by_own", "by_single", "n", "width", "max_front",
                 "factor_nnz", "flops", "bytes")  # fmt: skip
        return {**{name: getattr(info, name) for name in names}, "reason": text(info.reason),
                "ordering": text(lib.mpk_ordering_name(info.ordering))}  # fmt: skip

    def __reduce__(self) -> NoReturn:
        raise TypeError("these factors cannot be pickled or copied")


class SystemsFactor(_Systems):
    """Factors of many sparse systems of one pattern: the result of :func:`ldl_batch` with values.

    Values, b and x may lie in a GPU's memory (CuPy, PyTorch, JAX by DLPack); then, and with
    ``device="cuda"``, the systems are there.  What is told of them is on the host.

    Attributes
    ----------
    count, n, dtype, hermitian
    status : int32 array (count,)
        Of the last call that worked on a system: 0 ok, 1 singular, 2 perturbed, 3 inaccurate;
        negative: it has no factors, or no solution (:attr:`words`); "argument" where it lost them,
        by ``keep=False``, :meth:`learn` or a factorization that failed.
    inertia : int64 array (count, 3)
        Positive, negative, zero.
    certified : bool array (count,)
        Is the inertia A's?  Only with ``certify=True``.
    omega, normwise : float arrays (count,)
        Backward errors of the last refined solve; NaN where there was none.
    rank, steps, tier, growth, logdet
        As in mpk_systems_results (man 3 metapack_systems); tier 1: by the template, 3: with pivots
        of its own in the template's fronts, 2: by the single engine, 0: no factors.
    """

    def __init__(self, A: MatrixLike, values: Values, lower: Optional[bool], hermitian: bool,
                 expected: int, keep: bool, certify: bool, progress: Optional[Progress],
                 options: Dict[str, OptionValue], general: bool = False, *,
                 quiet: bool = False) -> None:  # fmt: skip
        options = {"method": "ldlt", **options}
        device = options.get("device")
        self._gpu = None if device in ("cpu", "auto") else gpu_of(device, values)  # type: ignore[arg-type]
        if device is None and self._gpu is not None:
            options = {**options, "device": "cuda", "device_number": self._gpu}
        self._ctx = Context()
        self._link = Link(self._ctx, self._gpu)
        self._lower, self._progress, self._certify = lower, progress, bool(certify)
        self._general, self._quiet = bool(general), quiet
        listed = self._listed(values)
        m = take_there(A, self._link, lower, hermitian, None, self._general) if lies_there(A) else None
        own = getattr(A, "dtype", np.float64) if m is None else m.dtype
        dtype = None if listed is None else np.result_type(own, *[m.dtype for m in listed])
        if listed is None and lies_there(values):
            dtype = np.result_type(own, self._lend(values, "the values").dtype)
        elif listed is None:
            values = host_array(values, "the values")
            dtype = np.result_type(own, values.dtype)
        work = working_dtype(dtype, "the values")
        if m is None:
            m = take(A, lower, hermitian, work, self._general)
        elif m.dtype != work:
            m = take_there(A, self._link, lower, hermitian, work, self._general)
        self._m = m
        self._order: Optional[Array] = None  # of a general matrix by rows: its values by columns
        if general and sp.issparse(A) and A.format == "csr":
            at = sp.csr_matrix((np.arange(A.nnz), A.indices, A.indptr), A.shape).tocsc()
            self._order = at.data
        elif self._m.kind == "other" and listed is None:
            raise TypeError("values belong to entries in the order of a csr or csc matrix: give A so, "
                            "or a list of matrices")  # fmt: skip
        self.n, self.dtype, self.hermitian = self._m.n, self._m.dtype, self._m.hermitian
        ax = self._values(values)
        self.count = int(ax.shape[0])
        self._options = Options(self._ctx, options)
        self._options.check_order(self.n)
        self._make(expected, keep)
        self._begin()
        self._factorize(lib.mpk_systems_factorize, ax, None)

    def _make(self, expected: int, keep: bool) -> None:
        problem = self._m.problem(self._ctx)
        try:
            an = self._ctx.own("analysis")
            # the processor's order has less fill, and many systems fill a GPU all the same
            options = ffi.new("mpk_options *", self._options.pointer[0])
            options.device, options.device_number = lib.MPK_ON_CPU, 0
            self._ctx.check(self._ctx.call(
                lib.mpk_analyse, problem[0], options, an, long=True,
                progress=self._progress,
            ))  # fmt: skip
        finally:
            destroy_problem(problem)
        self._systems = self._ctx.own("systems")
        self._ctx.check(self._ctx.call(
            lib.mpk_systems_create, an[0], self._options.pointer, self._how(expected, keep),
            self.count, self._systems,
        ))  # fmt: skip

    def _listed(self, values: Any) -> Optional[list[Any]]:
        """Matrices, where values are some."""
        if isinstance(values, np.ndarray) or sp.issparse(values) or lies_there(values):
            return None
        refuse_iterator(values, "the values")
        if not hasattr(values, "__len__"):
            return None
        return matrices(list(values), "the values")

    def _lend(self, x: Any, what: str) -> Lent:
        return self._link.lend(maker_of(x), x, what)

    def _by_rows(self, x: Any, what: str) -> Optional[Lent]:
        """An array of a GPU as the library takes it there; None: it has to go through the host."""
        lent = self._lend(x, what)
        if self._gpu is None or lent.dtype != self.dtype:
            return None
        if not lent.rows:
            turned = maker_of(x).by_rows(x)
            if turned is None:
                return None
            lent = self._lend(turned, what)
        return lent

    def _values(self, values: Any) -> Union[Array, Lent]:
        """(count, nnz), in the order of A's entries."""
        listed = self._listed(values)
        m = self._m
        if listed is None and lies_there(values):
            shape = self._lend(values, "the values").shape
            lent = None if m.conjugate or self._order is not None else self._by_rows(values, "the values")
            if lent is not None and len(shape) == 2 and shape[1] == len(m.indices):
                return lent
            values = self._link.fetch(maker_of(values), values, "the values")
        if listed is not None:
            rows = []
            for k, one in enumerate(listed):
                if not np.can_cast(working_dtype(one.dtype, "the values"), self.dtype, "same_kind"):
                    raise TypeError(f"matrix {k} of the list: {one.dtype} values do not fit {self.dtype} systems")  # fmt: skip
                other: Matrix = take(one, self._lower, self.hermitian, self.dtype, self._general)
                if not m.same_pattern(other):
                    raise ValueError(f"matrix {k} of the list has not A's pattern and format")
                rows.append(other.data)
            return np.ascontiguousarray(np.stack(rows))
        ax = host_array(values, "the values")
        if not np.can_cast(working_dtype(ax.dtype, "the values"), self.dtype, "same_kind"):
            raise TypeError(f"{ax.dtype} values do not fit {self.dtype} systems")
        if ax.ndim != 2 or ax.shape[1] != len(m.indices):
            raise ValueError(f"the values have shape {ax.shape}; (count, {len(m.indices)}) is wanted")
        if self._order is not None:
            ax = ax[:, self._order]
        ax = np.ascontiguousarray(ax, dtype=self.dtype)
        return ax.conj() if m.conjugate else ax

    def _factorize(self, function: Any, ax: Union[Array, Lent], mask: Optional[VectorLike]) -> None:
        if ax.shape[0] != self.count:
            raise ValueError(f"values of {ax.shape[0]} systems were given, there are {self.count}")
        self._run(function, _array(ax, 1), mask)

    def factorize(self, values: Values, mask: Optional[VectorLike] = None) -> "SystemsFactor":
        """Factorize new values from the beginning; where mask is False a system is left alone."""
        self._factorize(lib.mpk_systems_factorize, self._values(values), mask)
        return self

    def refactorize(self, values: Values, mask: Optional[VectorLike] = None) -> "SystemsFactor":
        """The same beginning with what was learned from the values before."""
        self._factorize(lib.mpk_systems_refactorize, self._values(values), mask)
        return self

    def learn(self, number: Optional[int] = None) -> "SystemsFactor":
        """Make a new template, of the values of one system that the template did not serve (tiers 2, 3);
        None: of the first that is regular.  All systems begin with it at their next factorization; factors
        by the old one are lost.  For values that have moved away from those that were analysed."""
        if number is None:
            alone = np.flatnonzero((self.tier > lib.MPK_TIER_TEMPLATE) & (self.status == 0))
            if not len(alone):
                return self
            number = int(alone[0])

        def work(ctx: Any, systems: Any, number: int) -> int:
            status = int(lib.mpk_systems_learn(ctx, systems, number))
            if status >= 0 and self.tier[number] > lib.MPK_TIER_TEMPLATE:
                self._lose((self.tier == lib.MPK_TIER_TEMPLATE) | (self.tier == lib.MPK_TIER_OWN))
            return status

        self._ctx.check(self._ctx.call(work, self._systems[0], int(number), long=True))
        return self

    def solve(self, b: VectorLike, mask: Optional[VectorLike] = None, *,
              refine: bool = True) -> Array:  # fmt: skip
        """Solve the systems; those that the mask leaves out, or that have no solution, get NaN.

        b : array (count, n) or (count, n, k)
            Of a GPU (CuPy, PyTorch, DLPack): x is a new array there.  Where the systems are on that
            GPU, and k is 1, nothing is copied; else it goes through the host.
        mask : bool array (count,), optional
            Where it is False a system is left alone.
        refine : bool
            False: by the factors alone, and omega is not known.
        """
        if lies_there(b):
            return self._solve_there(b, mask, refine)
        b = host_array(b, "the right-hand sides")
        if b.shape[:2] != (self.count, self.n) or b.ndim not in (2, 3):
            raise ValueError(f"b has shape {b.shape}; ({self.count}, {self.n}) or "
                             f"({self.count}, {self.n}, k) is wanted")  # fmt: skip
        if not np.can_cast(working_dtype(b.dtype, "b"), self.dtype, "same_kind"):
            raise TypeError(f"{b.dtype} right-hand sides do not fit {self.dtype} factors")
        columns = b.shape[2] if b.ndim == 3 else 1
        right = b.reshape(self.count, self.n, columns).transpose(0, 2, 1)
        right = np.ascontiguousarray(right, dtype=self.dtype)
        x = np.full_like(right, np.nan)
        if x.size:
            given, found = _array(right, self.n), _array(x, self.n)
            self._tell(self._ctx.call(
                lib.mpk_systems_solve, self._systems[0], columns, given, found, int(not refine),
                self._mask(mask), self._results(), long=True, progress=self._progress,
            ))  # fmt: skip
        return np.ascontiguousarray(x.transpose(0, 2, 1)).reshape(b.shape)

    def _solve_there(self, b: Any, mask: Optional[VectorLike], refine: bool) -> Any:
        """The same for b on a GPU."""
        maker, what = maker_of(b), "the right-hand sides"
        given = self._lend(b, what)
        side = self._by_rows(b, what)
        one = given.shape in ((self.count, self.n), (self.count, self.n, 1))
        x = maker.empty(b, self.dtype, False) if side is not None and one and given.size else None
        if side is None or x is None:
            host = self._link.fetch(maker, b, what)
            return deliver(b, None, self._link, self.solve(host, mask, refine=refine))
        found = self._lend(x, "x")
        if not found.rows:
            raise TypeError("no array like b, by rows, can be made: give b by rows")
        at_work = self._mask(mask)
        self._tell(self._ctx.call(
            lib.mpk_systems_solve, self._systems[0], 1, _array(side, self.n), _array(found, self.n),
            int(not refine), at_work, self._results(), long=True, progress=self._progress,
        ), 4)  # fmt: skip
        none = self.status < 0
        if mask is not None:
            none |= self._kept_mask == 0
        if none.any() and not maker.blank(x, none):
            host = self._link.fetch(maker, x, "x")
            host[none] = np.nan
            self._link.put(maker, x, host, "x")
        return x


class MixedFactor(_Systems):
    """Factors of sparse systems of several patterns: the result of :func:`ldl_batch` of a list.

    Attributes
    ----------
    count, dtype, hermitian
    n : int array (count,)
        The order of each system.
    status, inertia, certified, omega, normwise, rank, steps, tier, growth, logdet
        As of :class:`SystemsFactor`.
    """

    def __init__(self, A: Sequence[Any], lower: Optional[bool], hermitian: bool, keep: bool,
                 certify: bool, progress: Optional[Progress], options: Dict[str, OptionValue],
                 general: bool) -> None:  # fmt: skip
        self._lower, self._progress, self._certify = lower, progress, bool(certify)
        self._general = bool(general)
        dtype = working_dtype(np.result_type(*[one.dtype for one in A]), "the matrices")
        self._m = [take(one, lower, hermitian, dtype, self._general) for one in A]
        self.n = np.array([m.n for m in self._m])
        self.count, self.dtype, self.hermitian = len(A), self._m[0].dtype, self._m[0].hermitian
        self._ctx = Context()
        self._link = Link(self._ctx, None)
        self._options = Options(self._ctx, {"method": "ldlt", **options})
        problems = []
        self._systems = self._ctx.own("systems")
        try:
            for k, m in enumerate(self._m):
                try:
                    problems.append(m.problem(self._ctx))
                except MetapackError as e:
                    raise type(e)(f"matrix {k} of the list: {e}", e.status, e.stage, e.index) from None
            every = ffi.new("mpk_problem *[]", [p[0] for p in problems])
            self._ctx.check(self._ctx.call(
                lib.mpk_systems_create_mixed, self.count, every, self._options.pointer,
                self._how(0, keep), self._systems, long=True, progress=progress,
            ))  # fmt: skip
        finally:
            for p in problems:
                destroy_problem(p)
        self._begin()
        self._factorize(lib.mpk_systems_factorize, [m.data for m in self._m], None)

    def _values(self, A: Sequence[Any]) -> list[Array]:
        refuse_iterator(A, "the matrices")
        if matrices(A) is None or len(A) != self.count:
            raise ValueError(f"a list of {self.count} sparse matrices is wanted")
        values = []
        for k, (one, m) in enumerate(zip(A, self._m)):
            if not np.can_cast(working_dtype(one.dtype, "the matrices"), self.dtype, "same_kind"):
                raise TypeError(f"matrix {k} of the list: {one.dtype} values do not fit {self.dtype} systems")  # fmt: skip
            other: Matrix = take(one, self._lower, self.hermitian, self.dtype, self._general)
            if not m.same_pattern(other):
                raise ValueError(f"matrix {k} of the list has not the pattern and format it had")
            values.append(other.data)
        return values

    def _factorize(self, function: Any, ax: Sequence[Array], mask: Optional[VectorLike]) -> None:
        values = [np.ascontiguousarray(a, dtype=self.dtype) for a in ax]
        given, kept = _listed(values, 1)
        self._run(function, given, mask)
        del kept

    def factorize(self, A: Sequence[Any], mask: Optional[VectorLike] = None) -> "MixedFactor":
        """Factorize matrices of the same patterns from the beginning; where mask is False one is left alone."""
        self._factorize(lib.mpk_systems_factorize, self._values(A), mask)
        return self

    def refactorize(self, A: Sequence[Any], mask: Optional[VectorLike] = None) -> "MixedFactor":
        """The same beginning with what was learned from the values before."""
        self._factorize(lib.mpk_systems_refactorize, self._values(A), mask)
        return self

    def solve(self, b: Sequence[VectorLike], mask: Optional[VectorLike] = None, *,
              refine: bool = True) -> list[Array]:  # fmt: skip
        """Solve the systems; those that the mask leaves out, or that have no solution, get NaN.

        b : list of arrays (n_k,), or all of (n_k, columns)
        mask, refine
            As of :meth:`SystemsFactor.solve`.

        Returns a list of arrays of b's shapes.
        """
        if len(b) != self.count:
            raise ValueError(f"b has {len(b)} right-hand sides; {self.count} are wanted")
        sides = [host_array(one, "the right-hand sides") for one in b]
        columns = {one.shape[1:] for one in sides}
        if any(one.ndim not in (1, 2) or one.shape[0] != n for one, n in zip(sides, self.n)):
            raise ValueError("a right-hand side has another number of rows than its matrix")
        if len(columns) != 1:
            raise ValueError("the right-hand sides have different numbers of columns")
        for one in sides:
            if not np.can_cast(working_dtype(one.dtype, "b"), self.dtype, "same_kind"):
                raise TypeError(f"{one.dtype} right-hand sides do not fit {self.dtype} factors")
        many = sides[0].shape[1] if sides[0].ndim == 2 else 1
        right = [np.ascontiguousarray(one.reshape(n, many).T, dtype=self.dtype)
                 for one, n in zip(sides, self.n)]  # fmt: skip
        x = [np.full_like(one, np.nan) for one in right]
        if any(one.size for one in x):
            (given, kept), (found, held) = _listed(right, 0), _listed(x, 0)
            self._tell(self._ctx.call(
                lib.mpk_systems_solve, self._systems[0], many, given, found, int(not refine),
                self._mask(mask), self._results(), long=True, progress=self._progress,
            ))  # fmt: skip
            del kept, held
        return [np.ascontiguousarray(found.T).reshape(one.shape) for found, one in zip(x, sides)]
