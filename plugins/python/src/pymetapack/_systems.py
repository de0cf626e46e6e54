# SPDX-License-Identifier: BSD-3-Clause
"""Many sparse systems of one pattern at once (docs/guide/systems.md)."""

from __future__ import annotations

import warnings
from typing import Any, Dict, NoReturn, Optional, Sequence, Union

import numpy as np
import scipy.sparse as sp

from ._context import Context, Progress
from ._errors import InaccurateWarning, MetapackWarning, ZeroPivotWarning
from ._lib import ffi, lib, text
from ._matrix import SCALARS, Matrix, destroy_problem, host_array, pointer, take, working_dtype
from ._options import Options
from ._types import Array, MatrixLike, OptionValue, VectorLike

__all__ = ["SystemsFactor"]

Values = Union[VectorLike, Sequence[Any]]


def _array(a: Array, ld: int) -> Any:
    """mpk_batch_array of systems that follow each other."""
    operand = ffi.new("mpk_batch_array *")
    operand.layout = lib.MPK_BATCH_STRIDED
    operand.data = pointer(a)
    operand.stride = max(1, a.size // max(1, len(a)))
    operand.ld = max(1, ld)
    return operand


class SystemsFactor:
    """Factors of many sparse systems of one pattern: the result of :func:`ldl_batch` with values.

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
        self._lower, self._progress, self._certify = lower, progress, bool(certify)
        listed = self._listed(values)
        dtype = None if listed is None else np.result_type(getattr(A, "dtype", np.float64), *[m.dtype for m in listed])  # fmt: skip
        if listed is None:
            values = host_array(values, "the values")
            dtype = np.result_type(getattr(A, "dtype", np.float64), values.dtype)
        self._m = take(A, lower, hermitian, working_dtype(dtype, "the values"))
        if self._m.kind == "other" and listed is None:
            raise TypeError("values belong to entries in the order of a csr or csc matrix: give A so, "
                            "or a list of matrices")  # fmt: skip
        self.n, self.dtype, self.hermitian = self._m.n, self._m.dtype, self._m.hermitian
        ax = self._values(values)
        self.count = len(ax)
        self._ctx = Context()
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
            self._ctx.check(self._ctx.call(
                lib.mpk_analyse, problem[0], self._options.pointer, an, long=True,
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
        if isinstance(values, np.ndarray) or sp.issparse(values) or not hasattr(values, "__len__"):
            return None
        some = list(values)
        return some if some and sp.issparse(some[0]) else None

    def _values(self, values: Any) -> Array:
        """(count, nnz), in the order of A's entries."""
        listed = self._listed(values)
        m = self._m
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

    def _factorize(self, function: Any, ax: Array, mask: Optional[VectorLike]) -> None:
        if len(ax) != self.count:
            raise ValueError(f"values of {len(ax)} systems were given, there are {self.count}")
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
        mask : bool array (count,), optional
            Where it is False a system is left alone.
        refine : bool
            False: by the factors alone, and omega is not known.
        """
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
