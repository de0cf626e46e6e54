# SPDX-License-Identifier: BSD-3-Clause
"""Schur complements on some of the variables."""

from __future__ import annotations

import warnings
from types import TracebackType
from typing import Any, Callable, Dict, Optional, Type

import numpy as np
from numpy.typing import ArrayLike

from ._context import Context, Progress
from ._device import lies_there
from ._errors import ArgumentError, PatternError, SingularMatrixError, ZeroPivotWarning
from ._factor import LONG_NNZ, Certificate, Inertia, certificate_of
from ._lib import ffi, lib, text
from ._matrix import destroy_problem, host_array, pointer, take, view_of, working_dtype
from ._options import Options
from ._types import Array, DType, MatrixLike, OptionValue
from ._vectors import check_shape, columns, solve_columns
from ._verdict import judge, tell_apart

__all__ = ["SchurComplement", "schur"]

_LONG_FLOPS = 3e8
_Verb = Callable[..., Any]


def _by_columns(x: Array, dtype: DType) -> Array:
    return x if columns(x) and x.dtype == dtype else np.array(x, dtype, order="F")


class SchurComplement:
    """S = A₂₂ − A₂₁ A₁₁⁻¹ A₁₂ on the outer variables of A, made by :func:`schur`.

    ``variables`` are the outer ones, in the order of the rows of ``S``; the others are the interior,
    whose factorization is kept: ``condense`` and ``expand`` take right-hand sides and solutions over
    it.  What is counted (``inertia``, ``certified``) is A₁₁.

    Threads that share one take turns.  It is a context manager, as :class:`Factor` is.
    """

    shape: tuple[int, int]
    dtype: DType
    variables: Array

    def __init__(self, A: MatrixLike, variables: ArrayLike, lower: Optional[bool], hermitian: bool,
                 singular: str, progress: Optional[Progress],
                 options: Dict[str, OptionValue]) -> None:  # fmt: skip
        if singular not in ("warn", "raise", "ignore"):
            raise ValueError("singular must be 'warn', 'raise' or 'ignore'")
        self._ctx = Context()
        m = take(A, lower, hermitian)
        self._options = Options(self._ctx, options)
        self._options.check_order(m.n)
        self._lower, self._singular, self._progress = lower, singular, progress
        self.shape, self.dtype, self._hermitian = (m.n, m.n), m.dtype, m.hermitian
        self.variables = _chosen(variables, m.n)
        self._an = self._ctx.own("analysis")
        self._fac = self._ctx.own("factor")
        self._s: Optional[Array] = None
        self._number = 0  # of factorizations
        problem = m.problem(self._ctx)
        try:
            outer = np.ascontiguousarray(self.variables, np.int32)
            nnz = int(view_of(problem).nnz)
            status = self._ctx.call(lib.mpk_analyse_schur, problem[0], self._options.pointer, len(outer),
                                    pointer(outer), self._an, long=nnz > LONG_NNZ, progress=progress)  # fmt: skip
            self._ctx.check(status)
            info = ffi.new("mpk_analysis_info *")
            lib.mpk_analysis_info_get(self._an[0], info)
            self._long = bool(info.factor_flops > _LONG_FLOPS or nnz > 10 * LONG_NNZ)
            self._factorize(lib.mpk_factorize, ffi.NULL)
        finally:
            destroy_problem(problem)

    def _factorize(self, verb: _Verb, values: Any) -> None:
        with self._ctx.lock:  # no other thread keeps the S from before
            self._s = None
            self._number += 1
            status = self._ctx.call(verb, self._an[0], values, self._options.pointer, self._fac,
                                    long=self._long, progress=self._progress)  # fmt: skip
            self._ctx.check(status)
            words = self._ctx.message()[2] if status else ""
        info = self._info()
        tell_apart(info.asymmetry, 4)
        if status != lib.MPK_SINGULAR:
            return
        none = self._ctx.call(lib.mpk_schur_condense, self._fac[0], 0, ffi.NULL, self.shape[0], ffi.NULL,
                              len(self.variables)) != lib.MPK_OK  # fmt: skip
        if none or self._singular == "raise":
            raise SingularMatrixError(words, "singular", "schur", int(info.inertia.zero))
        if self._singular == "warn":
            warnings.warn(f"the interior is singular: {info.inertia.zero} zero pivots of "
                          f"{self.shape[0] - len(self.variables)}", ZeroPivotWarning, stacklevel=4)  # fmt: skip

    def _info(self) -> Any:
        self._ctx.pointer  # not closed
        info = ffi.new("mpk_factor_info *")
        lib.mpk_factor_info_get(self._fac[0], info)
        return info

    # ---- its end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the memory and the threads back now."""
        self._ctx.close()
        self._s = None

    def __enter__(self) -> "SchurComplement":
        self._ctx.pointer  # not closed
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:  # fmt: skip
        self.close()

    # ---- what there is ---------------------------------------------------------------------------

    @property
    def S(self) -> Array:
        """The Schur complement, an array of shape (k, k) that is not written to; both triangles."""
        with self._ctx.lock:
            if self._s is None:
                k = len(self.variables)
                s = np.empty((k, k), self.dtype, order="F")
                self._ctx.check(self._ctx.call(lib.mpk_schur_get, self._fac[0], pointer(s.T), k))
                s.flags.writeable = False
                self._s = s
            return self._s

    @property
    def inertia(self) -> Inertia:
        """Positive, negative and zero eigenvalues of the interior A₁₁, of a real or Hermitian A."""
        if self.dtype.kind == "c" and not self._hermitian:
            raise ArgumentError("a complex symmetric matrix has no inertia", "argument", "schur")
        counts, number = self._info().inertia, self._number
        found = Inertia(int(counts.positive), int(counts.negative), int(counts.zero))

        def ask() -> Certificate:
            if self._number != number:
                raise ArgumentError("it holds other values by now: ask for its inertia anew",
                                    "argument", "certify")  # fmt: skip
            return self.certificate

        found._ask = ask
        return found

    @property
    def certificate(self) -> Certificate:
        """Is that inertia A₁₁'s?  Asked now, once for each factorization."""
        found = ffi.new("mpk_certificate *")
        self._ctx.check(self._ctx.call(lib.mpk_certify, self._fac[0], found, long=self._long))
        return certificate_of(found)

    @property
    def certified(self) -> bool:
        return self.certificate.certified

    @property
    def engine(self) -> str:
        """What computed: "cpu-avx512", ..."""
        return text(lib.mpk_factor_engine(self._fac[0]))

    # ---- right-hand sides and solutions ----------------------------------------------------------

    def condense(self, b: ArrayLike) -> Array:
        """b₂ − A₂₁ A₁₁⁻¹ b₁: the right-hand side of the system with S.

        b : array of shape (n,) or (n, k)
        """
        n, k = self.shape[0], len(self.variables)
        given = self._side(b, n, "the right-hand side")
        if given.dtype.kind == "c" and self.dtype.kind != "c":
            both: Array = self.condense(given.real) + 1j * self.condense(given.imag)
            return both
        side = _by_columns(given, self.dtype)
        out = np.empty((k, *side.shape[1:]), self.dtype, order="F")
        self._ctx.check(self._ctx.call(
            lib.mpk_schur_condense, self._fac[0], _count(side), pointer(side.T), n, pointer(out.T), k,
            long=self._long, progress=self._progress))  # fmt: skip
        return out

    def expand(self, b: ArrayLike, x2: ArrayLike) -> Array:
        """The solution x of A's interior rows with the outer variables x₂: all n entries of it.

        b : array of shape (n,) or (n, k); its outer rows are not read
        x2 : array of shape (outer,) or (outer, k)
        """
        n, k = self.shape[0], len(self.variables)
        given, outer = self._side(b, n, "the right-hand side"), self._side(x2, k, "x2")
        if given.shape[1:] != outer.shape[1:]:
            raise ValueError(f"b has shape {given.shape} and x2 {outer.shape}: other columns")
        if self.dtype.kind != "c" and "c" in (given.dtype.kind, outer.dtype.kind):
            both: Array = self.expand(given.real, outer.real) + 1j * self.expand(given.imag, outer.imag)
            return both
        side, outer = _by_columns(given, self.dtype), _by_columns(outer, self.dtype)
        x = np.empty(side.shape, self.dtype, order="F")
        self._ctx.check(self._ctx.call(
            lib.mpk_schur_expand, self._fac[0], _count(side), pointer(side.T), n, pointer(outer.T), k,
            pointer(x.T), n, long=self._long, progress=self._progress))  # fmt: skip
        return x

    def solve(self, b: ArrayLike) -> Array:
        """Solve A x = b by way of S, which each call factors as a dense matrix; refined with A.

        Raises SingularMatrixError where S is singular and x no solution; warns as Factor.solve does.
        """
        n = self.shape[0]
        info = ffi.new("mpk_solve_info *")
        status, message = 0, ""

        def run(b: Array, x: Array) -> None:
            nonlocal status, message
            with self._ctx.lock:
                status = self._ctx.call(
                    lib.mpk_schur_solve, self._fac[0], _count(b), pointer(b.T), n, pointer(x.T), n,
                    self._options.pointer, info, long=self._long, progress=self._progress)  # fmt: skip
                self._ctx.check(status)
                message = self._ctx.message()[2] if status else ""

        x = solve_columns(b, n, self.dtype, None, run)
        judge(status, info, x, False, message, 2)
        return x

    def _side(self, x: ArrayLike, rows: int, what: str) -> Array:
        side = host_array(x, what)
        if what == "x2" and (side.ndim not in (1, 2) or side.shape[0] != rows):
            raise ValueError(f"x2 has shape {side.shape}, not ({rows},) or ({rows}, k)")
        check_shape(side.shape, rows)
        working_dtype(side.dtype, what)
        return side

    # ---- new values ------------------------------------------------------------------------------

    def refactor(self, A: MatrixLike) -> "SchurComplement":
        """New values of the same pattern: itself, with another S.

        Raises PatternError (it is as it was), InputError, SingularMatrixError.
        """
        m = take(A, self._lower, self._hermitian, self.dtype)
        if (m.n, m.n) != self.shape:
            raise PatternError(f"the matrix has order {m.n}, not {self.shape[0]}", "argument", "refactor")
        problem = m.problem(self._ctx)
        try:
            self._factorize(lib.mpk_factorize_problem, problem[0])
        except ArgumentError as error:
            if "another pattern" in str(error):
                raise PatternError(str(error), "argument", "refactor") from None
            raise
        finally:
            destroy_problem(problem)
        return self

    def __repr__(self) -> str:
        return (f"<SchurComplement on {len(self.variables)} of {self.shape[0]} variables, "
                f"{self.dtype}>")  # fmt: skip


def _count(x: Array) -> int:
    return 1 if x.ndim == 1 else int(x.shape[1])


def _chosen(variables: ArrayLike, n: int) -> Array:
    """Indices from 0: of numbers, negative ones from the end, or of a mask."""
    given = np.asarray(variables)
    if given.ndim != 1:
        raise ValueError(f"the variables are a list of indices or a mask, not of shape {given.shape}")
    if given.dtype.kind == "b" and given.size != n:
        raise ValueError(f"the mask has {given.size} entries, the matrix order {n}")
    if given.size == 0:
        return np.empty(0, np.int32)
    if given.dtype.kind not in "biu":
        raise TypeError(f"the variables are indices, not {given.dtype}")
    return np.asarray(np.arange(n, dtype=np.int32)[given])


def schur(A: MatrixLike, variables: ArrayLike, *, lower: Optional[bool] = None, hermitian: bool = False,
          singular: str = "warn", progress: Optional[Progress] = None,
          **options: OptionValue) -> SchurComplement:  # fmt: skip
    """The Schur complement of a symmetric or Hermitian matrix on some of its variables.

    Parameters
    ----------
    A, lower, hermitian, progress, **options
        As for :func:`ldl`; on the processor alone.
    variables : array of distinct indices, or a Boolean mask of length n
        The outer variables; S has their order.
    singular : {"warn", "raise", "ignore"}
        What becomes of zero pivots of the interior that leave S as it is.  Where there is no S that is
        a SingularMatrixError in any case.

    Returns
    -------
    SchurComplement

    Examples
    --------
    >>> import numpy as np, pymetapack
    >>> A = np.array([[2.0, 1, 0], [1, -1, 3], [0, 3, 7]])
    >>> C = pymetapack.schur(A, [2, 0])
    >>> C.S
    array([[16.,  3.],
           [ 3.,  3.]])
    >>> C.inertia
    Inertia(positive=0, negative=1, zero=0)
    >>> b = A @ [1.0, 2, 3]
    >>> x2 = np.linalg.solve(C.S, C.condense(b))
    >>> C.expand(b, x2).round(12), C.solve(b).round(12)
    (array([1., 2., 3.]), array([1., 2., 3.]))
    """
    if lies_there(A):
        raise TypeError("a matrix on a GPU has no Schur complement here: copy it to the host")
    return SchurComplement(A, variables, lower, hermitian, singular, progress, dict(options))
