# SPDX-License-Identifier: BSD-3-Clause
"""The factor object."""

from __future__ import annotations

import warnings
from dataclasses import replace
from types import TracebackType
from typing import Any, Callable, Dict, NamedTuple, Optional, Type, Union, overload

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.sparse.linalg import LinearOperator

from ._bordered import Bordered
from ._context import Context, Progress
from ._device import (
    Lent, Link, Parts, conjugate, deliver, is_sparse_tensor, lies_there, maker_of, on_gpu,
)  # fmt: skip
from ._device_memory import prepare
from ._errors import (
    ArgumentError, PatternError, SingularMatrixError, UnsupportedError, ZeroPivotWarning,
)  # fmt: skip
from ._inverse import Inverse
from ._lib import ffi, lib, text
from ._matrix import (
    Matrix, destroy_problem, host_array, places, pointer, take, take_there, to_host, view_of,
    working_dtype,
)  # fmt: skip
from ._null import lstsq, null_space
from ._options import Options, as_dict
from ._parts import Part, sample
from ._saved import Path, Source, Tree, analyse, encoded, in_memory, of_path, tree_of
from ._sparse import solve_sparse
from ._pattern import filled
from ._selected import on_pattern, select, variances
from ._types import (
    Array, DType, MatrixLike, OnGpu, OptionValue, SupportsCuda, SupportsDLPack, VectorLike,
)  # fmt: skip
from ._vectors import check_shape, solve_columns
from ._verdict import judge, tell_apart

__all__ = ["Certificate", "Factor", "Inertia", "Slogdet"]

# What may take more than some tenths of a second can be interrupted, at the price of a thread:
LONG_NNZ = 10_000  # an analysis of more entries, an incomplete factorization of more rows than
_LONG_ROWS = 300  # this, a direct one of more operations, and a solve with more entries of L times
_LONG_FLOPS = 3e8  # right-hand sides
_LONG_SOLVE = 3_000_000
_CHECKS = ("first", "always", "never")
_Run = Callable[[Any, Any, int], None]


class Certificate(NamedTuple):
    """Is an inertia that of the matrix?  What products with it and solves with its factors say."""

    certified: bool
    vectors: int
    contraction: float
    miss_bound: float


class _Counts(NamedTuple):
    positive: int
    negative: int
    zero: int


class Inertia(_Counts):
    """Numbers of positive, negative and zero eigenvalues, as the signs of the factors have them."""

    _ask: Optional[Callable[[], Certificate]] = None

    @property
    def certified(self) -> bool:
        """Are they those of the matrix?  Asked now: products and solves, at most 16 of each, once."""
        return self._ask is not None and self._ask().certified

    def __reduce__(self) -> Any:
        """Three numbers: what is pickled or copied is not asked any more."""
        return Inertia, tuple(self)


def certificate_of(found: Any) -> Certificate:
    return Certificate(bool(found.certified), int(found.vectors), float(found.contraction),
                       float(found.miss_bound))  # fmt: skip


class Slogdet(NamedTuple):
    """Sign (or phase) and logarithm of the absolute value of a determinant, as numpy.linalg's."""

    sign: np.number[Any]
    logabsdet: float


def _good(dtype: DType) -> float:
    """The backward error before refinement from which on a factor is trusted with the next ones."""
    return float(np.sqrt(np.finfo(dtype).eps)) / 100


class Factor:
    """A factorization, made by :func:`ldl`, :func:`ildl` or :func:`ldu`.

    P S A S Pᵀ = L D Lᵀ (L D Lᴴ of Hermitian matrices), with L unit lower triangular, D block
    diagonal with blocks of order 1 and 2, S a diagonal scaling and P a permutation; of matrices
    that are not symmetric P R Q A C Pᵀ = L D U, with scalings R and C and a permutation of rows Q.

    Any thread may use it; threads that share one take turns, and the interpreter's lock is free
    meanwhile.  It holds no reference to the caller's arrays.  One by the direct method on the
    processor is saved (``save``) and pickled; a forked child goes on with its parent's, but for one
    on a GPU.

    It is a context manager: its memory and its threads end with the block, or with ``close()``;
    without either, when nothing refers to it any more.

    >>> import numpy as np, pymetapack
    >>> with pymetapack.ldl(np.array([[0.0, 1], [1, 0]])) as F:
    ...     x = F.solve([3.0, 4.0])
    >>> x
    array([4., 3.])
    """

    shape: tuple[int, int]
    dtype: DType

    def __init__(self, A: MatrixLike, lower: Optional[bool], hermitian: bool, singular: str,
                 progress: Optional[Progress], options: Dict[str, OptionValue],
                 dtype: Optional[DType] = None, stacklevel: int = 3, general: bool = False,
                 source: Optional[Source] = None) -> None:  # fmt: skip
        if singular not in ("warn", "raise", "ignore"):
            raise ValueError("singular must be 'warn', 'raise' or 'ignore'")
        self._ctx = Context()
        if lies_there(A):
            m = take_there(A, Link(self._ctx), lower, hermitian, dtype, general)
        else:
            m = take(A, lower, hermitian, dtype, general)
        self._make(m, lower, singular, progress, options, source)
        self._m = replace(m, values=None, indptr=_own(m.indptr, A), indices=_own(m.indices, A))
        self._told_singular(stacklevel)

    def _make(self, m: Matrix, lower: Optional[bool], singular: str, progress: Optional[Progress],
              options: Dict[str, OptionValue], source: Optional[Source]) -> None:  # fmt: skip
        """All but what is kept of A; without values in m: those of the source."""
        self._general = m.general
        self._source = source
        self._options = Options(self._ctx, options)
        self._options.check_order(m.n)
        if self._options.pointer.device == lib.MPK_ON_CUDA:
            prepare(self._ctx, int(self._options.pointer.device_number))
        self._singular = singular
        self._progress = progress
        self._lower = lower
        self.shape = (m.n, m.n)
        self.dtype = m.dtype
        self._hermitian = m.hermitian
        self._an = self._ctx.own("analysis")
        self._fac = self._ctx.own("factor")
        self._solve_info = ffi.new("mpk_solve_info *")
        self._selected_info: Optional[Any] = None  # of the last entries of the inverse
        self._null_info: Dict[str, Any] = {}
        self._shortest_info: Dict[str, Any] = {}
        self._sparse_info: Dict[str, Any] = {}
        self._places: Optional[Array] = None
        self._gpu: Optional[int] = None  # on which the factor is
        self._kept: Optional[tuple[type, Any, Any]] = None  # the pattern, on a GPU
        self._by_matrix = False  # the last values were in the order of a problem
        self._status = 0
        self._number = 0  # of the factorization
        self._sound = False
        self._values = 0
        values = np.zeros(len(m.indices), m.dtype) if m.values is None else None
        problem = m.problem(self._ctx, values)
        try:
            self._analyse(problem)
            self._factorize()
        finally:
            destroy_problem(problem)
            self._source = None

    def _analyse(self, problem: Any) -> None:
        """A failure leaves an earlier analysis, and what was factorized by it, as they were."""
        an = ffi.new("mpk_analysis **")
        nnz = int(view_of(problem).nnz)
        status = analyse(self._ctx, self._source, problem, self._options.pointer, an,
                         long=nnz > LONG_NNZ or self._many_rows(), progress=self._progress)  # fmt: skip
        self._ctx.check(status)
        if self._source is not None and self.shape[0] and self._incomplete != (tree_of(an[0]) is None):
            lib.mpk_analysis_destroy(an)
            raise ValueError(f"the analysis in the file is of another method than {self.method}")
        lib.mpk_factor_destroy(self._fac)
        lib.mpk_analysis_destroy(self._an)
        self._an[0] = an[0]
        self._nnz = nnz
        info = self.analysis_info = ffi.new("mpk_analysis_info *")
        lib.mpk_analysis_info_get(self._an[0], info)
        self._long = bool(info.factor_flops > _LONG_FLOPS or self._nnz > 10 * LONG_NNZ
                          or self._many_rows())  # fmt: skip

    def _factorize(self) -> None:
        """The values that were analysed; or what the file has."""
        if self._source is not None and self._source.factor:
            status = self._ctx.call(lib.mpk_factor_load, self._an[0], self._source.path, self._fac,
                                    long=self._long, progress=self._progress)  # fmt: skip
            self._status = self._ctx.check(status)
            self._new_numbers()
            return
        status = self._ctx.call(lib.mpk_factorize, self._an[0], ffi.NULL, self._options.pointer, self._fac,
                                long=self._long, progress=self._progress)  # fmt: skip
        self._status = self._ctx.check(status)
        if self.engine.startswith("cuda"):
            self._gpu = int(self._options.pointer.device_number)
        self._new_numbers()

    def _many_rows(self) -> bool:
        """So many that an incomplete factorization, whose work nobody knows before, may be long."""
        return self._incomplete and self.shape[0] > _LONG_ROWS

    def _long_solve(self, nrhs: int) -> bool:
        nnz = int(self._factor_info().nnz)
        return self._long or self._incomplete or max(nnz, self._nnz) * nrhs > _LONG_SOLVE

    def _new_numbers(self) -> None:
        """After each factorization: which one it is, and may a solve go without a check?"""
        self._values += 1
        self._sound = False
        if self._status == lib.MPK_OK and not self._incomplete:
            info = self._factor_info()
            self._sound = (info.rank == lib.MPK_RANK_FULL and info.perturbed == 0
                           and info.asymmetry.pairs == 0
                           and info.precision == lib.MPK_PRECISION_DOUBLE
                           and info.low_rank_tolerance == 0)  # fmt: skip

    def _told_singular(self, stacklevel: int) -> None:
        tell_apart(self._factor_info().asymmetry, stacklevel + 1)
        if self._status != lib.MPK_SINGULAR or self._singular == "ignore":
            return
        info = self._factor_info()
        words = (
            f"the matrix is singular: {info.inertia.zero} zero pivots of {self.shape[0]}; "
            "only consistent systems have a solution"
        )
        if self._singular == "raise":
            raise SingularMatrixError(words, "singular", "factorize", int(info.inertia.zero))
        warnings.warn(words, ZeroPivotWarning, stacklevel=stacklevel + 1)

    # ---- its end ---------------------------------------------------------------------------------

    def close(self) -> None:
        """Give the memory and the threads back now.  What uses the factor afterwards, an operator
        made of it too, raises ArgumentError; to close it again does nothing."""
        self._ctx.close()
        self._m = replace(self._m, indptr=np.empty(0, np.int64), indices=np.empty(0, np.int32))
        self._places = None
        self._kept = None

    def __enter__(self) -> "Factor":
        self._ctx.pointer  # not closed
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:  # fmt: skip
        self.close()

    # ---- in files --------------------------------------------------------------------------------

    def save(self, path: Path) -> None:
        """Save the factor, with its analysis and the values of A, for :func:`load`.

        A new file takes the place of an old one once it is whole; after a failure the old one is
        there.  The same version of the library reads it, on machines of the same kind.

        Raises
        ------
        UnsupportedError
            Not by the direct method, or on a GPU.
        OSError
            The file cannot be written.

        >>> import numpy as np, os, pymetapack, tempfile
        >>> A = np.array([[0.0, 1], [1, 0]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "A.factor")
        ...     pymetapack.ldl(A).save(path)
        ...     F = pymetapack.load(path, A)
        >>> F.solve([3.0, 4.0])
        array([4., 3.])
        """
        with self._ctx.lock:
            self._with_values()
            self._ctx.check(self._ctx.call(lib.mpk_factor_save, self._fac[0], encoded(path),
                                           long=self._long))  # fmt: skip

    def save_analysis(self, path: Path) -> None:
        """Save the analysis alone, for ``ldl(A, analysis=path)`` with other values, of any method but ``lu``."""
        self._ctx.check(self._ctx.call(lib.mpk_analysis_save, self._an[0], encoded(path),
                                       long=self._long))  # fmt: skip

    @property
    def tree(self) -> Optional[Tree]:
        """The order and the assembly tree, before pivoting; None of methods on blocks."""
        self._ctx.pointer  # not closed
        return tree_of(self._an[0])

    def __reduce__(self) -> Any:
        with self._ctx.lock, in_memory() as (name, file):
            try:
                self.save(name)
            except UnsupportedError as error:
                raise TypeError(f"this Factor cannot be pickled or copied: {error}") from error
            file.seek(0)
            data = file.read()
        given = {key: value for key, value in self._options.given.items() if key not in ("device", "device_number")}
        return _unpickled, (data, self._m, self._lower, self._singular, given)

    # ---- new values ------------------------------------------------------------------------------

    def refactor(self, A: MatrixLike, *, reanalyse: bool = False) -> "Factor":
        """Factorize new values with the same pattern: numeric work only.

        Parameters
        ----------
        A : sparse or dense matrix of shape (n, n), or array of shape (nnz,)
            A matrix of the pattern of the first one, or of a part of it (entries that cancel, or
            that a dense matrix has no more), read in the same way (``lower``, ``hermitian``); what
            it lacks is zero.  Or its values alone, in the order of ``A.data`` of the first one, which
            must then have been CSC or CSR.  On the host or on a GPU: values in the memory of the
            GPU that the factor is on are taken from there, by their pointer.  A matrix's pattern is
            compared on the GPU from the second time on.
        reanalyse : bool
            A matrix with entries outside that pattern is analysed anew, and its pattern is then the
            factor's; otherwise it is a PatternError.

        Returns
        -------
        Factor
            Itself.

        Raises
        ------
        PatternError
            Another order or pattern; the factor is as it was.
        InputError
            NaN, infinite or unsymmetric values; the factor is as it was.
        SingularMatrixError, MemoryLimitError, NumericError
            The factor is then without values: ``solve`` raises ArgumentError until the next
            successful refactor.
        """
        if lies_there(A):
            self._refactor_there(A, reanalyse)
        else:
            self._refactor_host(A, reanalyse)
        self._told_singular(2)
        return self

    def refactor_entries(self, entries: ArrayLike, values: ArrayLike) -> "Factor":
        """Factorize with a few values changed.

        With ``updates=True`` (an option of :func:`ldl`) only the fronts that they touch are computed,
        to the same bits; ``stats()["factor"]["redone"]`` tells the share.

        Parameters
        ----------
        entries : array of positions in ``A.data`` of the first matrix, which was CSC or CSR
            Of :func:`lu` CSC: the values of a CSR matrix are turned.  Where both triangles were
            given, an entry has two.
        values : array
            Their new values.

        Returns
        -------
        Factor
            Itself.

        Raises
        ------
        IndexError
            A position that does not exist; the factor is as it was.
        ArgumentError, InputError, SingularMatrixError, MemoryLimitError, NumericError
            As of ``refactor``; ArgumentError where the last values came by a matrix of another form.

        Examples
        --------
        >>> import pymetapack
        >>> from scipy.sparse import csc_matrix
        >>> F = pymetapack.ldl(csc_matrix([[2.0, 0, 1], [0, 3, 1], [1, 1, 0]]), updates=True)
        >>> F.refactor_entries([0], [5.0]).solve([6.0, 4, 2]).round(12)
        array([1., 1., 1.])
        """
        where = np.atleast_1d(np.asarray(entries))
        if where.size and where.dtype.kind not in "iu":
            raise TypeError(f"the entries are positions, not {where.dtype}")
        given = np.atleast_1d(host_array(values, "the values"))
        self._check_kind(given.dtype)
        if where.ndim != 1 or where.shape != given.shape:
            raise ValueError(f"{where.shape} positions and {given.shape} values: a list of each")
        if self._m.kind == "other":
            raise TypeError(f"positions are those of a first matrix that was {self._forms}")
        if where.size and (where.min() < 0 or where.max() >= len(self._m.indices)):
            raise IndexError(f"positions from {where.min()} to {where.max()}, of "
                             f"{len(self._m.indices)} values")  # fmt: skip
        entry = np.ascontiguousarray(where, np.int64)
        value = np.ascontiguousarray(given, self.dtype)
        if self._m.conjugate:
            value = value.conj()

        def verb(ctx: Any, an: Any, ax: Any, options: Any, fac: Any) -> int:
            return lib.mpk_refactorize_entries(ctx, len(entry), pointer(entry), ax, options, fac[0])  # type: ignore[no-any-return]

        with self._ctx.lock:
            if self._by_matrix:
                raise ArgumentError("the last values came by a matrix whose entries stand in another "
                                    "order: give all of them once, as an array", "argument",
                                    "refactor")  # fmt: skip
            self._refactorize(verb, pointer(value))
        self._told_singular(2)
        return self

    def bordered(self, capacity: int = 64, **options: OptionValue) -> Bordered:
        """This matrix with up to ``capacity`` rows added and removed, around the factor as it is.

        ``options`` are those of a solve: refine, accuracy, threads.
        """
        return Bordered(self, capacity, dict(options))

    def _refactor_host(self, A: Any, reanalyse: bool = False) -> None:
        m = self._new_values(A)
        with self._ctx.lock:
            if self._m.same_pattern(m):
                ax = np.ascontiguousarray(m.data)
                self._refactorize(lib.mpk_factorize, pointer(ax))
            else:
                problem = m.problem(self._ctx)
                try:
                    if self._has_pattern(view_of(problem)):
                        return self._refactorize(lib.mpk_factorize_problem, problem[0])
                    values = filled(self._m, m)
                    if values is not None:
                        ax = np.ascontiguousarray(replace(self._m, values=values).data)
                        return self._refactorize(lib.mpk_factorize, pointer(ax))
                    if not reanalyse:
                        raise PatternError(
                            "the matrix has another pattern, nonzeros where the one factorized before "
                            "has none: call ldl again, or refactor(A, reanalyse=True)", "argument",
                            "refactor"
                        )  # fmt: skip
                    self._begin_anew(m, A, problem)
                finally:
                    destroy_problem(problem)

    def _begin_anew(self, m: Matrix, A: Any, problem: Any) -> None:
        """Another pattern, with the options of the first."""
        self._analyse(problem)
        self._places = self._kept = None
        self._m = replace(m, values=None, indptr=_own(m.indptr, A), indices=_own(m.indices, A))
        self._by_matrix = False
        self._number += 1
        self._status = lib.MPK_ERR_CANCELLED  # no values, should this fail
        self._factorize()

    def renew(self, values: Array, stacklevel: int) -> None:
        """:meth:`refactor` with the values alone, for callers so many calls away."""
        self._refactor_host(values)
        self._told_singular(stacklevel)

    def beside(self, values: Array, stacklevel: int) -> "Factor":
        """Another factor, of other values, by this one's analysis, which lives as long."""
        other = object.__new__(Factor)
        other.__dict__.update(self.__dict__)
        other._ctx = Context()
        if self._gpu is not None:
            prepare(other._ctx, self._gpu)
        other._options = self._options.copy(other._ctx, {})
        other._fac = other._ctx.own("factor")
        other._ctx.borrow(self._ctx, other._fac, "factor")
        other._solve_info = ffi.new("mpk_solve_info *")
        other._selected_info = None
        other._null_info, other._shortest_info, other._sparse_info = {}, {}, {}
        other._kept = None
        other._status = lib.MPK_ERR_CANCELLED  # no values, should this fail
        other._number, other._values, other._sound = 0, 0, False
        other.renew(values, stacklevel + 1)
        return other

    def _link(self) -> Link:
        return Link(self._ctx, self._gpu)

    def _refactor_there(self, A: Any, reanalyse: bool) -> None:
        """New values on a GPU."""
        with self._ctx.lock:
            link, maker, values = self._link(), maker_of(A), A
            parts = maker.sparse(A, self._general)
            if parts is not None:
                self._check_shape(parts.shape)
                maker, values = parts.maker, parts.values
                self._check_kind(link.lend(maker, values, "the matrix").dtype)
                lent = link.lend(maker, values, "the matrix")
                if not self._same_pattern(parts, link) or lent.shape != self._m.indices.shape:
                    return self._refactor_host(to_host(A, link, self._general)[0], reanalyse)
            else:
                lent = link.lend(maker, A, "the matrix")
                if len(lent.shape) != 1:
                    return self._refactor_host(to_host(A, link, self._general)[0], reanalyse)
                self._check_kind(lent.dtype)
                self._check_count(lent.shape)
            if self._gpu is not None:
                mine = maker.conj(values) if self._m.conjugate else values
                mine = None if mine is None else maker.columns(mine, self.dtype, False)
                if mine is not None:
                    lent = link.lend(maker, mine, "the matrix")
                    return self._refactorize(lib.mpk_factorize, lent.address)
            host = link.fetch(maker, values, "the matrix").astype(self.dtype, copy=False)
            ax = np.ascontiguousarray(replace(self._m, values=host).data)
            self._refactorize(lib.mpk_factorize, pointer(ax))

    def _same_pattern(self, parts: Parts, link: Link) -> bool:
        """The indices of a matrix on a GPU are those of the first one?  Copies of them stay there, so
        that the next ones need not come to the host."""
        if (parts.form == "csr") != (self._m.kind == "csr"):
            return False
        maker = parts.maker
        new = (parts.indptr, parts.indices)
        if self._kept is not None and self._kept[0] is type(maker):
            old = self._kept[1:]
            if all(a.dtype == b.dtype and a.device == b.device for a, b in zip(old, new)):
                answers = [maker.equal(a, b) for a, b in zip(old, new)]
                if None not in answers:
                    return all(answers)
        indptr, indices = (link.fetch(maker, x, "the indices") for x in new)
        if not (np.array_equal(indptr, self._m.indptr)
                and np.array_equal(indices, self._m.indices)):  # fmt: skip
            return False
        copies = [maker.copy(x) for x in new]
        if copies[0] is not None:
            self._kept = (type(maker), copies[0], copies[1])
        return True

    def _check_kind(self, dtype: DType) -> None:
        if not np.can_cast(working_dtype(dtype, "the matrix"), self.dtype, "same_kind"):
            raise TypeError(f"a {dtype} matrix does not go into a {self.dtype} factor")

    @property
    def _forms(self) -> str:
        """Those whose values the library takes as they lie."""
        return "CSC (CSR only where A is symmetric)" if self._general else "CSC or CSR"

    def _check_count(self, shape: tuple[int, ...]) -> None:
        """Of values alone."""
        if self._m.kind == "other":
            raise TypeError(
                f"values alone can be given if the first matrix was {self._forms}; give the matrix"
            )
        if shape != self._m.indices.shape:
            raise PatternError(f"{shape[0]} values for a pattern with "
                               f"{self._m.indices.size}", "argument", "refactor")  # fmt: skip

    def _check_shape(self, shape: tuple[int, ...]) -> None:
        if shape != self.shape:
            raise PatternError(f"the matrix has shape {shape}, the factor {self.shape}",
                               "argument", "refactor")  # fmt: skip

    def _new_values(self, A: Any) -> Matrix:
        if is_sparse_tensor(A):
            return take(A, self._lower, self._hermitian, self.dtype, self._general)
        values = A if sp.issparse(A) else host_array(A, "the matrix")
        self._check_kind(values.dtype)
        if values.ndim == 1:
            self._check_count(values.shape)
            return replace(self._m, values=np.ascontiguousarray(values, dtype=self.dtype))
        self._check_shape(values.shape)
        return take(values, self._lower, self._hermitian, self.dtype, self._general)

    def _refactorize(self, verb: Any, ax: Any) -> None:
        try:
            status = self._ctx.call(verb, self._an[0], ax, self._options.pointer, self._fac,
                                    long=self._long, progress=self._progress)  # fmt: skip
        except BaseException:  # Ctrl-C, or what a progress function raised
            self._status = lib.MPK_ERR_CANCELLED
            self._sound = False
            raise
        if status not in (lib.MPK_ERR_INPUT, lib.MPK_ERR_ARGUMENT):  # then it is as it was
            self._by_matrix = verb is lib.mpk_factorize_problem
            self._status = status
            self._number += 1
            self._new_numbers()
        self._ctx.check(status)

    def _has_pattern(self, view: Any) -> bool:
        if self._places is None:
            problem = self._m.problem(self._ctx, np.zeros(len(self._m.indices), self.dtype))
            try:
                self._places = places(view_of(problem))
            finally:
                destroy_problem(problem)
        return int(view.nnz) == len(self._places) and np.array_equal(places(view), self._places)

    # ---- solve -----------------------------------------------------------------------------------

    # fmt: off
    @overload
    def solve(self, b: ArrayLike, out: Optional[Array] = None, refine: Optional[int] = None, *,
              trans: str = "N", **options: OptionValue) -> Array: ...
    @overload
    def solve(self, b: OnGpu, out: Optional[OnGpu] = None, refine: Optional[int] = None, *,
              trans: str = "N", **options: OptionValue) -> OnGpu: ...
    @overload
    def solve(self, b: SupportsDLPack, out: Optional[SupportsDLPack] = None,
              refine: Optional[int] = None, *, trans: str = "N", **options: OptionValue) -> Any: ...
    # fmt: on
    def solve(self, b: VectorLike, out: Optional[VectorLike] = None, refine: Optional[int] = None, *,
              trans: str = "N", **options: OptionValue) -> Union[Array, SupportsCuda]:  # fmt: skip
        """Solve A x = b, or with Aᵀ or Aᴴ.

        Parameters
        ----------
        b : array of shape (n,) or (n, k), any memory order
            Integer and real types become the factor's dtype; a complex b with a real factor gives a
            complex x.  NumPy's, or on a GPU: CuPy's, PyTorch's, what has
            ``__cuda_array_interface__`` or DLPack.
        out : ndarray, or array on the GPU of b, optional
            Where x goes, of b's shape and the result's dtype; may be b itself.
        refine : int, optional
            Most steps of iterative refinement; None: the option's value (10).  0: the factor is
            applied once and the residual is not computed: no backward error, no warning
            (``stats()["solve"]`` has NaN).  It is computed all the same if ``accuracy``,
            ``condition``, ``krylov`` or another option of the solve is given, of incomplete
            factors, and where pivots are zero or were replaced.
        trans : {"N", "T", "H"}
            A, Aᵀ or Aᴴ, as SciPy's SuperLU has it: of a real symmetric A all the same.  Of
            matrices that are not symmetric the factors of :func:`lu` have it, those of :func:`ldu`
            have not (NotImplementedError).
        **options
            Options of this solve: ``accuracy``, ``condition``, ``krylov``, ``tolerance``, ...

        Returns
        -------
        x : ndarray of b's shape; of shape (n, k) in Fortran order.  Of a b on a GPU: an array of
            b's kind, on that GPU, in b's order

        Raises
        ------
        SingularMatrixError
            Zero pivots, and b is not in the range of A; the exception has the best ``solution``.
        InputError, ArgumentError, MemoryLimitError

        Warns
        -----
        InaccurateWarning, NotConvergedWarning
            The backward error missed 1e-8 (single: 1e-4), or ``accuracy`` where that was given; an
            incomplete factor's iterative method missed its ``tolerance``.
        """
        if trans != "N" and self._turned(trans):
            given: Any = b
            turned: Any = given.conj() if sp.issparse(given) else conjugate(given)
            if out is not None and not isinstance(out, np.ndarray):
                raise TypeError("out is an array of NumPy's where A's conjugate is solved with")
            x: Any = self.solve(turned, out, refine, trans="N", **options)
            x = conjugate(x) if out is None else np.conjugate(x, out=out)
            conjugated: Union[Array, SupportsCuda] = x
            return conjugated
        if refine is not None:
            options["refine"] = refine
        with self._ctx.lock:
            used = self._options
            if options:
                used = used.copy(self._ctx, options)
            other = self._general and trans != "N"  # of lu()
            if not other and self._needs_no_check(used, options):
                swept: Union[Array, SupportsCuda] = self._sweep(b, out)
                return swept
            status = 0

            def run(b: Any, x: Any, nrhs: int) -> None:
                nonlocal status
                n = self.shape[0]
                verb = lib.mpk_solve
                which: tuple[Any, ...] = ()
                if other:
                    verb = lib.mpk_solve_transposed
                    which = (lib.MPK_TRANSPOSE if trans == "T" else lib.MPK_CONJUGATE_TRANSPOSE,)
                status = self._ctx.call(
                    verb, self._fac[0], *which, nrhs, b, n, x, n, used.pointer, self._solve_info,
                    long=self._long_solve(nrhs),
                    progress=self._progress,
                )  # fmt: skip
                self._ctx.check(status)

            x = self._on_columns(b, out, run)
            if status != 0:
                message = self._ctx.message()[2]
        if status != 0:
            judge(status, self._solve_info, x, "accuracy" in used.given, message, 3)
        solution: Union[Array, SupportsCuda] = x
        return solution

    __call__ = solve

    def _turned(self, trans: str) -> bool:
        """Is op(A) the conjugate of A, rather than A itself?"""
        if trans not in ("T", "H"):
            raise ValueError(f"trans must be 'N', 'T' or 'H', not {trans!r}")
        if self._general and self._incomplete:
            raise NotImplementedError("the factor of a matrix that is not symmetric solves with A, "
                                      "not with its transpose: that of lu() solves with both")  # fmt: skip
        if self._general:
            return False
        return self.dtype.kind == "c" and self._hermitian == (trans == "T")

    def _on_columns(self, b: Any, out: Optional[Any], run: _Run) -> Any:
        """``run(b, x, nrhs)`` on addresses of columns, wherever they lie."""
        n, dtype = self.shape[0], self.dtype
        if not lies_there(b):
            return solve_columns(b, n, dtype, out,
                                 lambda b, x: run(pointer(b.T), pointer(x.T), _count(b.shape)))  # fmt: skip
        link, nrhs = self._link(), self._columns_there(b)
        if self._gpu is not None:
            x = on_gpu(b, dtype, out, link, False,
                       lambda b, x: run(b.address, x.address, nrhs))  # fmt: skip
            if x is not None:
                return x
        host = link.fetch(maker_of(b), b, "the right-hand side")
        return deliver(b, out, link, self._on_columns(host, None, run))

    def _columns_there(self, b: Any) -> int:
        """How many right-hand sides there are in b, on a GPU, which are looked at."""
        lent = self._link().lend(maker_of(b), b, "the right-hand side")
        check_shape(lent.shape, self.shape[0])
        working_dtype(lent.dtype, "the right-hand side")
        return _count(lent.shape)

    def _needs_no_check(self, used: Options, changes: Dict[str, OptionValue]) -> bool:
        o = used.pointer
        return bool(
            self._sound and o.refine == 0 and o.accuracy < 0 and o.condition == lib.MPK_OFF
            and o.krylov in (lib.MPK_KRYLOV_AUTO, lib.MPK_KRYLOV_NONE) and changes.keys() <= {"refine"}
        )  # fmt: skip

    def _nothing_known(self) -> None:
        info = self._solve_info
        info.iterations = 0
        info.normwise = info.componentwise = info.unrefined = info.relative_residual = np.nan

    def _sweep(self, b: Any, out: Optional[Any] = None) -> Any:
        """A⁻¹ b with nothing computed about its error, but where it is not finite: then the checked
        solve finds out why, or does better."""

        def solve(b: Array, x: Array) -> None:
            given = b.copy(order="F") if np.may_share_memory(b, x) else b
            if b is not x:
                x[...] = b
            self._apply(x, lib.MPK_PART_ALL)
            if not np.isfinite(x).all():
                x[...] = self.solve(given, refine=1)
                return
            self._nothing_known()

        with self._ctx.lock:
            if lies_there(b):
                return self._apply_there(b, out, lib.MPK_PART_ALL, True)
            return solve_columns(b, self.shape[0], self.dtype, out, solve)

    def _apply(self, x: Array, part: int) -> None:
        """One part of the factorization, on columns in place."""
        self._apply_at(pointer(x.T), part, _count(x.shape))

    def _apply_at(self, x: Any, part: int, nrhs: int) -> None:
        status = self._ctx.call(lib.mpk_solve_part, self._fac[0], part, nrhs, x, self.shape[0],
                                long=self._nnz * nrhs > _LONG_SOLVE)  # fmt: skip
        self._ctx.check(status)

    def _apply_there(self, b: Any, out: Optional[Any], part: int, checked: bool) -> Any:
        """One part of the factorization, to b on a GPU."""
        link, maker, nrhs = self._link(), maker_of(b), self._columns_there(b)
        if self._gpu is not None and out is None:

            def apply(b: Lent, x: Lent) -> None:
                self._apply_at(x.address, part, nrhs)

            x = on_gpu(b, self.dtype, None, link, True, apply)
            if x is not None:
                finite = maker.finite(x) if checked else True
                if finite is None:
                    finite = bool(np.isfinite(link.fetch(maker, x, "the solution")).all())
                if not finite:
                    return self.solve(b, refine=1)
                if checked:
                    self._nothing_known()
                return x
        host = link.fetch(maker, b, "the right-hand side")
        if checked:
            return deliver(b, out, link, self._sweep(host))

        def solve(b: Array, x: Array) -> None:
            if b is not x:
                x[...] = b
            self._apply(x, part)

        return deliver(b, out, link, solve_columns(host, self.shape[0], self.dtype, None, solve))

    def _solve_by_operator(self, b: Any) -> Any:
        """A solve, with a word for eigensolvers where the matrix is singular."""
        try:
            return self.solve(b)
        except SingularMatrixError as error:
            error.args = (
                f"{error.args[0]}.  If this is A - sigma I, sigma is an eigenvalue as far as rounding "
                "can tell: move it a little (by 1e-8 of itself), or let pivots of the size of rounding "
                "count, as other solvers do, with zero_tolerance=0 and "
                "aslinearoperator(check='never')",
                *error.args[1:],
            )
            raise

    def aslinearoperator(self, check: str = "first") -> LinearOperator:
        """A⁻¹ as a scipy.sparse.linalg.LinearOperator: matvec solves.

        Parameters
        ----------
        check : {"first", "always", "never"}
            Which solves are refined, and judged by their backward error as :meth:`solve` does.
            "first": those with new values of the factor until one was right before it was refined;
            the others apply the factor once, in a fraction of the time.  Where pivots are zero or
            were replaced, and of an incomplete factor, it means "always".

        >>> import numpy as np, pymetapack
        >>> from scipy.sparse import diags
        >>> from scipy.sparse.linalg import eigsh
        >>> A = diags([1.0, 2.0, 3.0, 4.0, 5.0], format="csc")
        >>> F = pymetapack.ldl(A - 2.9 * diags([1.0] * 5))
        >>> eigsh(A, k=1, sigma=2.9, OPinv=F.aslinearoperator())[0].round(12)
        array([3.])
        """
        if check not in _CHECKS:
            raise ValueError(f"check must be one of {', '.join(_CHECKS)}, not {check!r}")
        if check == "never":
            return self.aspreconditioner()
        if check == "always":
            return Inverse(self, self._solve_by_operator)
        right = 0  # the values of which a solve was right by itself

        def solve(b: Any) -> Any:
            nonlocal right
            with self._ctx.lock:
                if right == self._values:
                    return self._sweep(b)
                x = self._solve_by_operator(b)
                if (
                    self._sound
                    and (lies_there(b) or np.any(b))
                    and self._solve_info.unrefined <= _good(self.dtype)
                ):
                    right = self._values
                return x

        return Inverse(self, solve)

    def aspreconditioner(self, abs: bool = False) -> LinearOperator:
        """The factorization as a LinearOperator, M⁻¹ = S Pᵀ L⁻ᵀ D⁻¹ L⁻¹ P S, without refinement.

        abs : bool
            |D| in the place of D (absolute eigenvalues of its blocks): a positive definite
            preconditioner, as MINRES, SYMMLQ and CG ask for.
        """
        part = lib.MPK_PART_ABS if abs else lib.MPK_PART_ALL

        def apply(b: Any) -> Any:
            def solve(b: Array, x: Array) -> None:
                if b is not x:
                    x[...] = b
                self._apply(x, part)

            with self._ctx.lock:
                if lies_there(b):
                    return self._apply_there(b, None, part, False)
                return solve_columns(b, self.shape[0], self.dtype, None, solve)

        return Inverse(self, apply)

    def part(self, part: str) -> LinearOperator:
        """One part of A⁻¹ = (S Pᵀ L⁻ᵀ) D⁻¹ (L⁻¹ P S) as a LinearOperator: :meth:`solve_part`, or W.

        part : {"L", "D", "LT", "sqrt"}
            "sqrt": W = S Pᵀ L⁻ᵀ D^-½, with W Wᴴ = A⁻¹, of a positive definite A; ``rmatvec`` gives
            Wᴴ b.  ArgumentError where A is not definite.

        >>> import numpy as np, pymetapack
        >>> A = np.array([[4.0, 2, 0], [2, 5, 1], [0, 1, 3]])
        >>> W = pymetapack.ldl(A).part("sqrt") @ np.eye(3)
        >>> np.allclose(W @ W.T @ A, np.eye(3))
        True
        """
        return Part(self, part)

    def sample(self, k: Optional[int] = None,
               rng: Union[None, int, np.random.Generator] = None) -> Array:  # fmt: skip
        """Samples of the normal distribution with mean 0 and covariance A⁻¹, of a definite A.

        Parameters
        ----------
        k : int, optional
            How many; None: one, as an array of shape (n,).
        rng : numpy.random.Generator, or what numpy.random.default_rng takes

        Returns
        -------
        ndarray of shape (n, k) or (n,); complex of a Hermitian A, with E[x xᴴ] = A⁻¹

        >>> import numpy as np, pymetapack
        >>> A = np.array([[4.0, 2, 0], [2, 5, 1], [0, 1, 3]])
        >>> X = pymetapack.ldl(A).sample(100_000, 1)
        >>> bool(np.abs(X @ X.T / 100_000 - np.linalg.inv(A)).max() < 0.01)
        True
        """
        return sample(self, k, rng)

    def null_space(self, vectors: Optional[ArrayLike] = None, *, most: Optional[int] = None,
                   orthonormal: bool = True) -> Array:  # fmt: skip
        """A basis of the kernel, all v with A v = 0, of a factor by the direct method.

        Parameters
        ----------
        vectors : array of shape (n, k) or (n,), optional
            Vectors that are known, such as the motions of a rigid body: they are checked, come
            first, and take the place of those that would be searched for.
        most : int, optional
            Room for so many vectors; None: for as many as there are.
        orthonormal : bool, optional
            False: as the factor has them, and given vectors as they are.

        Returns
        -------
        ndarray of shape (n, dimension) in Fortran order.  Each vector was measured by a product
        with A: ``stats()["null_space"]`` has its ``eta``, the least number for which an E with
        ``|E| <= eta |A|`` has (A + E) v = 0, and whether the dimension is ``certified``.

        Raises
        ------
        InputError
            A given vector is none of the kernel, or depends on others; ``index`` says which.

        Warns
        -----
        InaccurateWarning
            There are fewer such vectors than zero pivots.

        >>> import numpy as np, pymetapack
        >>> F = pymetapack.ldl(np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]), singular="ignore")
        >>> np.abs(F.null_space()).round(3).T
        array([[0.577, 0.577, 0.577]])
        """
        self._with_values()
        return null_space(self, vectors, most, orthonormal)

    def lstsq(self, b: VectorLike, null_space: Optional[ArrayLike] = None,
              out: Optional[Array] = None) -> Array:  # fmt: skip
        """Of all x with the least ‖b − A x‖₂ the one with the least ‖x‖₂: A⁺ b.

        Parameters
        ----------
        b : array of shape (n,) or (n, k), on the host
        null_space : array of shape (n, dimension), optional
            An orthonormal basis of the kernel, as :meth:`null_space` gives it; it is checked.  None:
            searched for in each call.
        out : ndarray, optional
            Where x goes; may be b itself.

        Returns
        -------
        ndarray of b's shape.  ``stats()["lstsq"]`` says whether A x = b has a solution
        (``consistent``), how much of b has none (``outside``), and how well the rest is solved.

        Raises
        ------
        InputError
            NaN or Inf in b; a column of ``null_space`` is none of the kernel, or they are not
            orthonormal.

        Warns
        -----
        InaccurateWarning
            What is in the range is not solved to ``accuracy``.

        >>> import numpy as np, pymetapack
        >>> F = pymetapack.ldl(np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]]), singular="ignore")
        >>> F.lstsq([1.0, 1, 4]).round(3)
        array([-1.333, -0.333,  1.667])
        """
        self._with_values()
        return lstsq(self, b, null_space, out)

    def solve_sparse(self, B: MatrixLike, rows: Optional[ArrayLike] = None,
                     check: str = "none") -> Array:  # fmt: skip
        """Rows of A⁻¹ B for a sparse B: what lies between these rows, those of B and the roots of the
        elimination tree is all that is visited.

        Parameters
        ----------
        B : sparse matrix of shape (n, k), or (n, 1)
        rows : array of integers, optional
            Which rows of X, in any order; None: all.
        check : {"none", "rows", "full"}
            "none": nothing is verified, as with ``solve(b, refine=0)``.  "rows": the equations of the
            wanted rows, for which x is found in their neighbours, too; a large error shows that x is
            wrong, a small one not that it is right.  "full": solved in all rows, refined and
            checked; nothing is saved.

        Returns
        -------
        ndarray of shape (len(rows), k) or (n, k), in Fortran order.  ``stats()["solve_sparse"]`` has
        the ``share`` of the work of solves in all rows, and what the check found.

        Raises
        ------
        InputError
            NaN or Inf in B, a row that is none.
        SingularMatrixError
            check="full": A X = B has no solution.

        Warns
        -----
        InaccurateWarning
            check="rows": a backward error above ``accuracy``; "full": as :meth:`solve`.

        >>> import numpy as np, pymetapack, scipy.sparse as sp
        >>> F = pymetapack.ldl(sp.diags([np.full(99, -1.0), np.full(100, 2.0)], [-1, 0]), lower=True)
        >>> e = sp.csc_matrix(([1.0], ([3], [0])), (100, 1))
        >>> F.solve_sparse(e, [3, 50]).round(6).T        # two entries of the inverse
        array([[3.841584, 1.980198]])
        """
        self._with_values()
        return solve_sparse(self, B, rows, check)

    def solve_part(self, part: str, b: VectorLike) -> Union[Array, SupportsCuda]:
        """One part of A⁻¹ = (S Pᵀ L⁻ᵀ) D⁻¹ (L⁻¹ P S) applied to b, without refinement.

        Parameters
        ----------
        part : {"L", "D", "LT"}
            L⁻¹ P S b; D⁻¹ b, where zero pivots give 0; S Pᵀ L⁻ᵀ b, of Hermitian factors S Pᵀ L⁻ᴴ b.
        b : array of shape (n,) or (n, k), on the host or on a GPU

        Returns
        -------
        array of b's shape and kind.  Between L and Lᵀ entry k belongs to pivot k: to row ``perm[k]``
        of A, and to row k of ``D``.  (An incomplete factor has no ``perm`` and ``D``.)

        With a definite A, W = S Pᵀ L⁻ᵀ D^-½ has W Wᵀ = A⁻¹: a sampler of that covariance.

        >>> import numpy as np, pymetapack
        >>> F = pymetapack.ldl(np.array([[4.0, 2, 0], [2, 5, 1], [0, 1, 3]]))
        >>> W = F.solve_part("LT", np.diag(F.D.diagonal() ** -0.5))
        >>> np.allclose(W @ W.T @ [[4, 2, 0], [2, 5, 1], [0, 1, 3]], np.eye(3))
        True
        """
        if part not in ("L", "D", "LT"):
            raise ValueError(f"part must be 'L', 'D' or 'LT', not {part!r}")
        number = getattr(lib, f"MPK_PART_{part}")

        def solve(b: Array, x: Array) -> None:
            if b is not x:
                x[...] = b
            self._apply(x, number)

        self._with_values()
        with self._ctx.lock:
            if lies_there(b):
                there: SupportsCuda = self._apply_there(b, None, number, False)
                return there
            return solve_columns(b, self.shape[0], self.dtype, None, solve)

    # ---- entries of the inverse ------------------------------------------------------------------

    def inverse_diagonal(self, *, accuracy: Optional[float] = None) -> Array:
        """The diagonal of A⁻¹, for some two times the cost of the factorization.

        Of a direct factor on the processor; entries are not refined.  ``stats()["selected"]`` has
        what a check of the diagonal of A A⁻¹ says.  Of an indefinite A ``ldl(A, pivot_threshold=0.5)``
        gives more digits.

        Parameters
        ----------
        accuracy : float, optional
            The error of that check from which on there is an InaccurateWarning; None: 1e-8, in
            single precision 1e-4.

        Returns
        -------
        ndarray of shape (n,), of the factor's dtype

        Raises
        ------
        SingularMatrixError
            There are zero pivots, and no inverse.
        UnsupportedError
            An incomplete factor, one of a matrix that is not symmetric, or one on a GPU.

        Warns
        -----
        InaccurateWarning
            The error is above ``accuracy``, or a row of A times the inverse is off by more than 0.1.

        >>> import numpy as np, pymetapack
        >>> pymetapack.ldl(np.array([[2.0, 1], [1, 0]])).inverse_diagonal()
        array([ 0., -2.])
        """
        return select(self, lib.MPK_SELECT_DIAGONAL, accuracy, 2)

    def selected_inverse(self, *, accuracy: Optional[float] = None) -> sp.csc_matrix:
        """The entries of A⁻¹ where A has some, for some two times the cost of the factorization.

        Parameters, exceptions and warnings as of :meth:`inverse_diagonal`.

        Returns
        -------
        csc_matrix of shape (n, n)
            With both triangles, whichever was given; the places of A's stored entries, also of
            those that are zero.

        >>> import numpy as np, pymetapack
        >>> from scipy.sparse import diags
        >>> A = diags([np.full(4, -1.0), np.full(5, 2.0), np.full(4, -1.0)], [-1, 0, 1])
        >>> Z = pymetapack.ldl(A).selected_inverse()
        >>> np.allclose((Z - np.linalg.inv(A.toarray()))[A.toarray() != 0], 0)
        True
        """
        return on_pattern(self, select(self, lib.MPK_SELECT_PATTERN, accuracy, 2))

    def marginal_variances(self, *, accuracy: Optional[float] = None) -> Array:
        """The variances of the normal distribution that :meth:`sample` draws from: the diagonal of
        A⁻¹, of a definite A; real.  Otherwise as :meth:`inverse_diagonal`.

        ArgumentError: A is not positive definite.

        >>> import numpy as np, pymetapack
        >>> pymetapack.ldl(np.array([[2.0, 1], [1, 1]])).marginal_variances().round(12)
        array([1., 2.])
        """
        return variances(self, accuracy, 2)

    # ---- what there is to know -------------------------------------------------------------------

    def _factor_info(self) -> Any:
        self._ctx.pointer  # not closed
        info = ffi.new("mpk_factor_info *")
        lib.mpk_factor_info_get(self._fac[0], info)
        return info

    def _with_values(self) -> Any:
        if self._status < 0:
            raise ArgumentError("the factor holds no values: the last refactor failed",
                                "argument", "get")  # fmt: skip
        return self._factor_info()

    def _get(self, what: int, dtype: Any, count: int) -> Array:
        self._with_values()
        with self._ctx.lock:
            room = np.zeros(max(1, count), dtype)
            size = lib.mpk_get_size(self._fac[0], what)
            if size > room.nbytes:
                raise ArgumentError("the factor has more to tell than fits", "argument", "get")
            status = self._ctx.call(lib.mpk_get, self._fac[0], what, pointer(room), room.nbytes)
            self._ctx.check(status)
        return room[:count]

    @property
    def method(self) -> str:
        """ "ldlt", or how the incomplete factor was made."""
        return self._options.method

    @property
    def engine(self) -> str:
        """What computes with the factor: "cpu-avx2", "cuda: NVIDIA H200"."""
        self._ctx.pointer  # not closed
        return text(lib.mpk_factor_engine(self._fac[0]))

    @property
    def _incomplete(self) -> bool:
        return bool(self._options.pointer.method > lib.MPK_METHOD_LDLT)

    @property
    def hermitian(self) -> bool:
        """Complex and equal to its conjugate transpose."""
        return self._hermitian

    @property
    def status(self) -> str:
        """Outcome of the last factorization: "ok", "singular", "perturbed", or a failure."""
        return text(lib.mpk_status_name(self._status))

    @property
    def inertia(self) -> Inertia:
        """Positive, negative and zero eigenvalues (Sylvester); 0, 0, zero pivots of complex
        symmetric matrices and of those that are not symmetric, for which it has no meaning.  Of an
        incomplete factor: those of its D.
        """
        i, number = self._with_values().inertia, self._number
        found = Inertia(int(i.positive), int(i.negative), int(i.zero))

        def ask() -> Certificate:
            if self._number != number:
                raise ArgumentError("the factor holds other values by now: ask for its inertia anew",
                                    "argument", "certify")  # fmt: skip
            return self.certificate

        found._ask = ask
        return found

    @property
    def certificate(self) -> Certificate:
        """Is :attr:`inertia` that of the matrix?  A factorization does not know; it is examined when
        this is read, once for its values: one product and one solve in most cases, at most 16 of each.
        """
        self._with_values()
        with self._ctx.lock:
            found = ffi.new("mpk_certificate *")
            self._ctx.check(self._ctx.call(lib.mpk_certify, self._fac[0], found))
        return certificate_of(found)

    @property
    def certified(self) -> bool:
        """Is :attr:`inertia` that of the matrix, but for a probability of 2e-9?  See
        :attr:`certificate`."""
        return self.certificate.certified

    @property
    def nneg(self) -> int:
        """Number of negative eigenvalues."""
        return self.inertia.negative

    @property
    def rank(self) -> int:
        """n less the number of zero pivots."""
        return self.shape[0] - int(self._with_values().inertia.zero)

    @property
    def nnz(self) -> int:
        """Entries of L, its unit diagonal included."""
        return int(self._with_values().nnz)

    @property
    def perm(self) -> Array:
        """int32 array of shape (n,): the old index at each position of L, pivoting included.  Of
        a factor of :func:`lu`: of columns."""
        return self._get(lib.MPK_GET_PERM, np.int32, self.shape[0])

    @property
    def scale(self) -> Array:
        """float64 array of shape (n,): the diagonal of S, in the order of A.  Of a matrix that is
        not symmetric, of shape (2 n,): of its columns, then of its rows."""
        return self._get(lib.MPK_GET_SCALE, np.float64, self.shape[0] * (2 if self._general else 1))

    @property
    def D(self) -> sp.csc_matrix:
        """D as a sparse matrix (CSC) of shape (n, n), with blocks of order 1 and 2."""
        n = self.shape[0]
        room = self._get(lib.MPK_GET_D, self.dtype, 2 * n)
        main, below = room[::2], room[1::2]
        above = below.conj() if self._hermitian else below
        k = np.flatnonzero(below)
        every = np.arange(n)
        return sp.csc_matrix(
            (
                np.concatenate([main, below[k], above[k]]),
                (np.concatenate([every, k + 1, k]), np.concatenate([every, k, k + 1])),
            ),
            shape=self.shape,
        )

    @property
    def slogdet(self) -> Slogdet:
        """(sign, log|det A|), as numpy.linalg.slogdet: (0, -inf) of a singular matrix."""
        log, re, im = self._get(lib.MPK_GET_LOGDET, np.float64, 3)
        if self.rank < self.shape[0]:
            return Slogdet(self.dtype.type(0), -np.inf)
        complex_ = self.dtype.kind == "c"
        return Slogdet(self.dtype.type(complex(re, im) if complex_ else re), float(log))

    @property
    def logdet(self) -> float:
        """log|det A|; -inf of a singular matrix."""
        return self.slogdet.logabsdet

    def stats(self) -> Dict[str, Any]:
        """Numbers of the analysis, the factorization and the last solve (NaN: not computed).

        "analysis", "factor", "solve" and, of incomplete factors, "block" have the fields of the
        library's structures of these names; "selected", "null_space", "lstsq" and "solve_sparse",
        once these were called, those of mpk_selected_info, mpk_null_info, mpk_minimum_norm_info and
        mpk_sparse_info; "memory" bytes in use now and at most.
        """
        with self._ctx.lock:
            bytes_ = ffi.new("int64_t[2]")
            lib.mpk_memory_usage(self._ctx.pointer, bytes_, bytes_ + 1)
            block = ffi.new("mpk_block_info *")
            lib.mpk_factor_block_info_get(self._fac[0], block)
            result = {
                "n": self.shape[0],
                "dtype": str(self.dtype),
                "hermitian": self._hermitian,
                "method": self.method,
                "engine": self.engine,
                "status": self.status,
                "analysis": as_dict(self.analysis_info[0]),
                "factor": as_dict(self._factor_info()[0]),
                "solve": as_dict(self._solve_info[0]),
                "memory": {"now_bytes": int(bytes_[0]), "peak_bytes": int(bytes_[1])},
            }
            if block.block_rows:
                result["block"] = as_dict(block[0])
            if self._selected_info is not None:
                result["selected"] = as_dict(self._selected_info[0])
            if self._null_info:
                result["null_space"] = dict(self._null_info)
            if self._sparse_info:
                result["solve_sparse"] = dict(self._sparse_info)
            if self._shortest_info:
                result["lstsq"] = dict(self._shortest_info)
        return result

    def __repr__(self) -> str:
        n = self.shape[0]
        if self._ctx.closed:
            return f"<Factor of a {n} x {n} matrix, {self.dtype}, closed>"
        if self._status < 0:
            return f"<Factor of a {n} x {n} matrix, {self.dtype}, without values>"
        i = self.inertia
        if self._general:
            return (f"<Factor of a {n} x {n} matrix, {self.dtype}, {self.method}: {self.status}, "
                    f"not symmetric, {self.nnz} entries of L and U>")  # fmt: skip
        return (f"<Factor of a {n} x {n} matrix, {self.dtype}, {self.method}: {self.status}, "
                f"inertia {i.positive}/{i.negative}/{i.zero}, {self.nnz} entries of L>")  # fmt: skip


def _unpickled(data: bytes, m: Matrix, lower: Optional[bool], singular: str,
               options: Dict[str, OptionValue]) -> Factor:  # fmt: skip
    factor = Factor.__new__(Factor)
    factor._ctx = Context()
    with in_memory(data) as (name, _):
        factor._make(m, lower, singular, None, options, of_path(name, factor=True))
    factor._m = m
    return factor


def _count(shape: tuple[int, ...]) -> int:
    """Columns."""
    return 1 if len(shape) == 1 else int(shape[1])


def _own(array: Array, A: MatrixLike) -> Array:
    """A copy, unless it is one already: the user may change what is his."""
    shared = any(
        np.may_share_memory(array, getattr(A, name))
        for name in ("indptr", "indices")
        if isinstance(getattr(A, name, None), np.ndarray)
    )
    return array.copy() if shared else array
