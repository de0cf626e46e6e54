# SPDX-License-Identifier: BSD-3-Clause
"""SciPy's own functions with METAPACK behind them: use_in_scipy()."""

from __future__ import annotations

import sys
import threading
import warnings
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Callable, Dict, List, Optional, Type

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as spla

from ._context import Context
from ._errors import InputError, MetapackError, SingularMatrixError, ZeroPivotWarning
from ._factor import Factor
from ._make import spsolve
from ._options import Options
from ._types import Array, OptionValue

_NAMES = ("spsolve", "splu", "factorized")  # eigsh, eigs, inv and others call these


class _Settings:
    """Options of the factors, of one use."""

    def __init__(self, options: Dict[str, Any]) -> None:
        Options(Context(), options)  # an error here, where later one would be SciPy's turn
        self.options = options


_here: "ContextVar[Optional[_Settings]]" = ContextVar("pymetapack_in_scipy", default=None)
_everywhere: List[_Settings] = []
_lock = threading.RLock()
_uses = 0  # for so many of them the functions are in place
_own: Dict[str, Callable[..., Any]] = {name: getattr(spla, name) for name in _NAMES}  # SciPy's


def _settings() -> Optional[_Settings]:
    found = _here.get()
    if found is None:
        found = next(iter(_everywhere[-1:]), None)
    return found


# ---- in the place of SciPy's ---------------------------------------------------------------------


def _factor(A: Any, settings: _Settings) -> Optional[Factor]:
    """None: this is SciPy's own: not symmetric, singular, no sparse matrix, NaN ..."""
    if not sp.issparse(A) or len(A.shape) != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        return None
    laws = (False, True) if np.dtype(A.dtype).kind == "c" else (False,)
    for hermitian in laws:
        try:
            options = {"method": "ldlt", **settings.options}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ZeroPivotWarning)
                factor = Factor(A, None, hermitian, "ignore", None, options)
        except InputError:
            continue
        except (MetapackError, TypeError, ValueError):
            return None
        return factor if factor.rank == A.shape[0] else None
    return None


class SymmetricLU:
    """What splu gives of a symmetric or Hermitian matrix: a Factor with SuperLU's names.

    ``solve``, ``shape`` and ``nnz`` are METAPACK's.  ``L``, ``U``, ``perm_r`` and ``perm_c`` are those
    of SuperLU, which makes them when they are asked for first.
    """

    def __init__(self, factor: Factor, A: sp.csc_matrix, arguments: Dict[str, Any]) -> None:
        self.factor = factor
        self._solve = factor.aslinearoperator()._apply
        self._matrix, self._arguments = A.copy(), arguments
        self._superlu: Optional[Any] = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.factor.shape

    @property
    def nnz(self) -> int:
        """Entries of L and of D Lᵀ."""
        return 2 * self.factor.nnz

    def solve(self, rhs: Array, trans: str = "N") -> Array:
        """Solve A x = b, with trans "T" or "H" with Aᵀ or Aᴴ, for b of shape (n,) or (n, k)."""
        if trans not in ("N", "T", "H"):
            raise ValueError("trans must be N, T, or H")
        if trans != "N" and self.factor._turned(trans):
            return np.asarray(np.conj(self._solve(np.conj(rhs))))
        return np.asarray(self._solve(np.asarray(rhs)))

    def _theirs(self) -> Any:
        if self._superlu is None:
            self._superlu = _own["splu"](self._matrix, **self._arguments)
        return self._superlu

    @property
    def L(self) -> sp.csc_matrix:
        return self._theirs().L

    @property
    def U(self) -> sp.csc_matrix:
        return self._theirs().U

    @property
    def perm_r(self) -> Array:
        return np.asarray(self._theirs().perm_r)

    @property
    def perm_c(self) -> Array:
        return np.asarray(self._theirs().perm_c)


def _splu(A: Any, permc_spec: Any = None, diag_pivot_thresh: Any = None, relax: Any = None,
          panel_size: Any = None, options: Any = None) -> Any:  # fmt: skip
    given = dict(permc_spec=permc_spec, diag_pivot_thresh=diag_pivot_thresh, relax=relax,
                 panel_size=panel_size, options={} if options is None else options)  # fmt: skip
    settings = _settings()
    factor = None if settings is None else _factor(A, settings)
    return _own["splu"](A, **given) if factor is None else SymmetricLU(factor, A, given)


def _factorized(A: Any) -> Any:
    settings = _settings()
    factor = None if settings is None else _factor(A, settings)
    return _own["factorized"](A) if factor is None else SymmetricLU(factor, A, {}).solve


def _spsolve(A: Any, b: Any, permc_spec: Any = None, use_umfpack: bool = True) -> Any:
    settings = _settings()
    x = None if settings is None else _solved(A, b, settings)
    return _own["spsolve"](A, b, permc_spec, use_umfpack) if x is None else x


def _solved(A: Any, b: Any, settings: _Settings) -> Any:
    """In the form of SciPy's; None: this is SciPy's own."""
    if not sp.issparse(A) or len(A.shape) != 2 or A.shape[0] != A.shape[1] or not A.shape[0]:
        return None
    sparse = sp.issparse(b)
    side = b.toarray() if sparse else np.asarray(b)
    if side.shape[:1] != A.shape[:1] or side.ndim > 2 or 0 in side.shape:
        return None
    vector = side.ndim == 1 or side.shape[1] == 1
    options: Dict[str, Any] = settings.options
    try:
        x = spsolve(A, side.ravel() if vector else side, general=False, **options)
    except SingularMatrixError as error:  # as SciPy tells it
        warnings.warn(f"Matrix is exactly singular: {error}", spla.MatrixRankWarning, stacklevel=3)
        x = np.full(
            side.size if vector else side.shape,
            np.nan,
            np.result_type(A.dtype, side.dtype, np.float32),
        )
    except (MetapackError, TypeError, ValueError):
        return None
    if sparse and not vector:
        return (A if A.format in ("csc", "csr") else A.tocsc()).__class__(x)
    return x


for _name, _mine in (("spsolve", _spsolve), ("splu", _splu), ("factorized", _factorized)):
    _mine.__name__ = _mine.__qualname__ = _name
    _mine.__doc__ = (
        f"scipy.sparse.linalg.{_name}, by METAPACK for symmetric matrices: use_in_scipy."
    )
_ours: Dict[str, Callable[..., Any]] = {
    "spsolve": _spsolve,
    "splu": _splu,
    "factorized": _factorized,
}


# ---- put in, taken out ---------------------------------------------------------------------------


def _replace(old: Dict[str, Callable[..., Any]], new: Dict[str, Callable[..., Any]]) -> None:
    """Wherever a loaded module has one of the functions under its name; there under all names."""
    for module in list(sys.modules.values()):
        names = getattr(module, "__dict__", None)
        if names is None or names.get("__name__") == __name__:
            continue
        if not any(names.get(name) is old[name] for name in _NAMES):
            continue
        for alias, value in list(names.items()):
            for name in _NAMES:
                if value is old[name]:
                    names[alias] = new[name]


def _count(change: int) -> None:
    global _uses
    with _lock:
        _uses += change
        if change > 0 and _uses == 1:
            _replace(_own, _ours)
        elif _uses == 0:
            _replace(_ours, _own)


class UseInScipy:
    """What :func:`use_in_scipy` gives: a context manager; ``undo()`` ends a use everywhere."""

    def __init__(self, everywhere: bool, options: Dict[str, OptionValue]) -> None:
        self._settings = _Settings(options)
        self._is_everywhere = everywhere
        self._tokens: List["Token[Optional[_Settings]]"] = []
        if everywhere:
            with _lock:
                _count(1)
                _everywhere.append(self._settings)

    def undo(self) -> None:
        """End a use everywhere; to end it again does nothing."""
        with _lock:
            if self._settings in _everywhere:
                _everywhere.remove(self._settings)
                _count(-1)

    def __enter__(self) -> "UseInScipy":
        if not self._is_everywhere:
            _count(1)
            self._tokens.append(_here.set(self._settings))
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:  # fmt: skip
        if self._is_everywhere:
            self.undo()
        else:
            try:
                _here.reset(self._tokens.pop())
            finally:
                _count(-1)


def use_in_scipy(*, everywhere: bool = False, **options: OptionValue) -> UseInScipy:
    """Let METAPACK solve what programs give to SciPy, without a change in them.

    ``scipy.sparse.linalg``'s ``spsolve``, ``splu`` and ``factorized``, and what calls them (``eigsh``
    and ``eigs`` with a ``sigma``, ``inv``, ``scipy.optimize``'s trust-constr, ...) take METAPACK for
    symmetric and Hermitian matrices; all others go on to SciPy's own, and so do singular ones in
    ``splu`` and ``factorized``.  ``spsolve`` of a singular matrix gives a solution where there is one,
    otherwise NaN with MatrixRankWarning, as SciPy's does.

    Parameters
    ----------
    everywhere : bool
        False: within ``with use_in_scipy():``, in the thread (the asyncio task) that runs it; other
        threads have SciPy's own meanwhile.  True: from now on in all threads, until ``undo()`` of what
        is returned, or the end of its ``with``.
    **options
        Options of the library, as of :func:`ldl`.

    Returns
    -------
    UseInScipy
        Of uses within each other the innermost counts, with its options; of those everywhere the last
        one.  After an exception, too, all is as it was.

    Raises
    ------
    TypeError, ArgumentError
        There is no such option, or no such value of it.

    The functions are replaced wherever a loaded module has one under its own name, there under other
    names, too; a module that has another name alone (``from scipy.sparse.linalg import splu as lu``)
    keeps SciPy's.

    >>> import numpy as np, scipy.sparse as sp, pymetapack
    >>> from scipy.sparse.linalg import eigsh, splu
    >>> A = sp.diags([np.ones(99), np.arange(100.0), np.ones(99)], [-1, 0, 1], format="csc")
    >>> with pymetapack.use_in_scipy():
    ...     found = eigsh(A, 3, sigma=41.3, return_eigenvectors=False)
    >>> np.sort(found).round(6)
    array([40., 41., 42.])
    """
    return UseInScipy(everywhere, dict(options))
