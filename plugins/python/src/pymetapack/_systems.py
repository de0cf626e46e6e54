# SPDX-License-Identifier: BSD-3-Clause
"""Many sparse systems of one pattern at once (docs/guide/systems.md)."""

from __future__ import annotations

import warnings
from typing import Any, Dict, NoReturn, Optional, Sequence, Union

import numpy as np
import scipy.sparse as sp

from ._context import Context, Progress
from ._device import Lent, Link, deliver, gpu_of, lies_there, maker_of
from ._errors import InaccurateWarning, MetapackWarning, ZeroPivotWarning
from ._lib import ffi, lib, text
from ._matrix import (
    SCALARS, Matrix, destroy_problem, host_array, pointer, take, take_there, working_dtype,
)  # fmt: skip
from ._options import Options
from ._types import Array, MatrixLike, OptionValue, VectorLike

__all__ = ["SystemsFactor"]

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


class SystemsFactor:
    """Factors of many sparse systems of one pattern: the result of :func:`ldl_batch` with values.

    Values, b and x may lie in a GPU's memory (CuPy, PyTorch, JAX by DLPack); then, and with
    ``device="cuda"``, the systems are there.  What is told of them is on the host.

    Attributes
    ----------
    count, n, dtype, hermitian
    status : int32 array (count,)
        Of the last call that worked on a system: 0 ok, 1 singular, 2 perturbed, 3 inaccurate;
        negative: it has no factors, or no solution (:attr:`words`).
    inertia : int64 array (count, 3)
        Positive, negative, zero.
    certified : bool array (count,)
        Is the inertia A's?  Only with ``certify=True``.
    omega, normwise : float arrays (count,)
        Backward errors of the last refined solve; NaN where there was none.
    rank, steps, tier, growth, logdet
        As in mpk_systems_results (man 3 metapack_systems); tier 1: by the template, 2: by the
        single engine, 0: no factors.
    """

    def __init__(self, A: MatrixLike, values: Values, lower: Optional[bool], hermitian: bool,
                 expected: int, keep: bool, certify: bool, progress: Optional[Progress],
                 options: Dict[str, OptionValue]) -> None:  # fmt: skip
        options = {"method": "ldlt", **options}
        device = options.get("device")
        self._gpu = None if device in ("cpu", "auto") else gpu_of(device, values)  # type: ignore[arg-type]
        if device is None and self._gpu is not None:
            options = {**options, "device": "cuda", "device_number": self._gpu}
        self._ctx = Context()
        self._link = Link(self._ctx, self._gpu)
        self._lower, self._progress, self._certify = lower, progress, bool(certify)
        listed = self._listed(values)
        m = take_there(A, self._link, lower, hermitian) if lies_there(A) else None
        own = getattr(A, "dtype", np.float64) if m is None else m.dtype
        dtype = None if listed is None else np.result_type(own, *[m.dtype for m in listed])
        if listed is None and lies_there(values):
            dtype = np.result_type(own, self._lend(values, "the values").dtype)
        elif listed is None:
            values = host_array(values, "the values")
            dtype = np.result_type(own, values.dtype)
        work = working_dtype(dtype, "the values")
        if m is None:
            m = take(A, lower, hermitian, work)
        elif m.dtype != work:
            m = take_there(A, self._link, lower, hermitian, work)
        self._m = m
        if self._m.kind == "other" and listed is None:
            raise TypeError("values belong to entries in the order of a csr or csc matrix: give A so, "
                            "or a list of matrices")  # fmt: skip
        self.n, self.dtype, self.hermitian = self._m.n, self._m.dtype, self._m.hermitian
        ax = self._values(values)
        self.count = int(ax.shape[0])
        self._options = Options(self._ctx, options)
        self._options.check_order(self.n)
        self._make(expected, keep)
        every = self.count
        self.status = np.full(every, lib.MPK_ERR_ARGUMENT, np.int32)
        self.tier, self.rank = np.zeros(every, np.int32), np.zeros(every, np.int32)
        self.steps, self._certified = np.zeros(every, np.int32), np.zeros(every, np.int32)
        self.inertia = np.zeros((every, 3), np.int64)
        self.omega, self.normwise = np.full(every, np.nan), np.full(every, np.nan)
        self.growth, self.logdet = np.zeros(every), np.zeros((every, 3))
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
        how = ffi.new("mpk_systems_options *")
        lib.mpk_systems_options_init(how)
        how.expected, how.keep = int(expected), int(bool(keep))
        self._systems = self._ctx.own("systems")
        self._ctx.check(self._ctx.call(
            lib.mpk_systems_create, an[0], self._options.pointer, how, self.count, self._systems,
        ))  # fmt: skip

    def _listed(self, values: Any) -> Optional[list[Any]]:
        """Matrices, where values are some."""
        if isinstance(values, np.ndarray) or sp.issparse(values) or lies_there(values):
            return None
        if not hasattr(values, "__len__"):
            return None
        some = list(values)
        return some if some and sp.issparse(some[0]) else None

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
            lent = None if m.conjugate else self._by_rows(values, "the values")
            if lent is not None and len(shape) == 2 and shape[1] == len(m.indices):
                return lent
            values = self._link.fetch(maker_of(values), values, "the values")
        if listed is not None:
            rows = []
            for k, one in enumerate(listed):
                if not np.can_cast(working_dtype(one.dtype, "the values"), self.dtype, "same_kind"):
                    raise TypeError(f"matrix {k} of the list: {one.dtype} values do not fit {self.dtype} systems")  # fmt: skip
                other: Matrix = take(one, self._lower, self.hermitian, self.dtype)
                if not m.same_pattern(other):
                    raise ValueError(f"matrix {k} of the list has not A's pattern and format")
                rows.append(other.data)
            return np.ascontiguousarray(np.stack(rows))
        ax = host_array(values, "the values")
        if not np.can_cast(working_dtype(ax.dtype, "the values"), self.dtype, "same_kind"):
            raise TypeError(f"{ax.dtype} values do not fit {self.dtype} systems")
        if ax.ndim != 2 or ax.shape[1] != len(m.indices):
            raise ValueError(f"the values have shape {ax.shape}; (count, {len(m.indices)}) is wanted")
        ax = np.ascontiguousarray(ax, dtype=self.dtype)
        return ax.conj() if m.conjugate else ax

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

    def _factorize(self, function: Any, ax: Union[Array, Lent], mask: Optional[VectorLike]) -> None:
        if ax.shape[0] != self.count:
            raise ValueError(f"values of {ax.shape[0]} systems were given, there are {self.count}")
        status = self._ctx.call(function, self._systems[0], _array(ax, 1), self._mask(mask),
                                self._results(), long=True, progress=self._progress)  # fmt: skip
        self._tell(status)

    def _tell(self, status: int) -> None:
        self._ctx.check(status)
        if status == 0:
            return
        kind = {lib.MPK_SINGULAR: ZeroPivotWarning, lib.MPK_INACCURATE: InaccurateWarning}
        warnings.warn(self._ctx.message()[2] + " (see status)", kind.get(status, MetapackWarning),
                      stacklevel=4)  # fmt: skip

    def factorize(self, values: Values, mask: Optional[VectorLike] = None) -> "SystemsFactor":
        """Factorize new values from the beginning; where mask is False a system is left alone."""
        self._factorize(lib.mpk_systems_factorize, self._values(values), mask)
        return self

    def refactorize(self, values: Values, mask: Optional[VectorLike] = None) -> "SystemsFactor":
        """The same beginning with what was learned from the values before."""
        self._factorize(lib.mpk_systems_refactorize, self._values(values), mask)
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
        ))  # fmt: skip
        none = self.status < 0
        if mask is not None:
            none |= self._kept_mask == 0
        if none.any():
            host = self._link.fetch(maker, x, "x")
            host[none] = np.nan
            self._link.put(maker, x, host, "x")
        return x

    @property
    def certified(self) -> Array:
        return self._certified.astype(bool)

    @property
    def words(self) -> list[str]:
        """Each status in a word: "ok", "singular", ..."""
        return [text(lib.mpk_status_name(int(status))) for status in self.status]

    @property
    def info(self) -> Dict[str, Any]:
        """mpk_systems_info: who works on them, what they take."""
        info = ffi.new("mpk_systems_info *")
        lib.mpk_systems_info_get(self._systems[0], info)
        names = ("count", "by_template", "by_single", "n", "width", "max_front", "factor_nnz",
                 "flops", "bytes")  # fmt: skip
        return {**{name: getattr(info, name) for name in names}, "reason": text(info.reason)}

    def __reduce__(self) -> NoReturn:
        raise TypeError("a SystemsFactor cannot be pickled or copied")
