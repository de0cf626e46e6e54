# SPDX-License-Identifier: BSD-3-Clause
"""spsolve with the pattern of the call before: its analysis is used again."""

from __future__ import annotations

import threading
from typing import Any, Optional

import numpy as np
import scipy.sparse as sp

from ._errors import MetapackError
from ._factor import Factor
from ._lib import lib
from ._matrix import Matrix, pointer, take
from ._types import Array, DType
from ._vectors import solve_columns

# What is kept between calls is small: patterns of so many entries, with so many of L
_ENTRIES = 20_000
_FILL = 1_000_000


class _Kept(threading.local):
    """Of each thread: the matrix of the last call, without its values, and from the second one of a
    pattern on its factor."""

    matrix: Optional[Matrix] = None
    lower: Optional[bool] = None
    factor: Optional[Factor] = None


_kept = _Kept()


def _same(m: Matrix, lower: Optional[bool]) -> bool:
    k = _kept.matrix
    return (k is not None and _kept.lower == lower and k.dtype == m.dtype and k.hermitian == m.hermitian
            and k.same_pattern(m))  # fmt: skip


def _keep(m: Matrix, lower: Optional[bool], factor: Optional[Factor]) -> None:
    """The user may change what is his."""
    if not _same(m, lower):
        _kept.matrix = Matrix(m.n, m.dtype, m.hermitian, m.triangle, m.indptr.copy(), m.indices.copy(), None,
                              m.conjugate, m.kind, m.general)  # fmt: skip
        _kept.lower = lower
    _kept.factor = factor


def solve_again(A: Any, b: Array, lower: Optional[bool], hermitian: bool, dtype: DType) -> Optional[Array]:
    """x, if the last matrix of this thread had A's pattern and all is well: no zero pivots, nothing to
    warn of, nothing wrong.  None: solve from the beginning, which has the words for it."""
    if not sp.issparse(A) or A.format not in ("csc", "csr") or A.nnz > _ENTRIES:
        return None
    m = take(A, lower, hermitian, dtype)
    factor, again = _kept.factor, _same(m, lower)
    try:
        if not again:
            _keep(m, lower, None)
            return None
        if factor is None:
            factor = Factor(A, lower, hermitian, "ignore", None, {"method": "ldlt"}, dtype, 4)
        else:
            ax = np.ascontiguousarray(m.data)
            factor._refactorize(lib.mpk_factorize, pointer(ax))
        x = _solve(factor, b) if factor._sound else None
    except MetapackError:
        x = None
    small = x is not None and factor is not None and factor.nnz <= _FILL
    _keep(m, lower, factor if small else None)
    return x


def _solve(factor: Factor, b: Array) -> Optional[Array]:
    """None: not to the accuracy that is promised."""
    n, status = factor.shape[0], 0

    def solve(b: Array, x: Array) -> None:
        nonlocal status
        nrhs = 1 if b.ndim == 1 else b.shape[1]
        status = factor._ctx.call(lib.mpk_solve, factor._fac[0], nrhs, pointer(b.T), n, pointer(x.T), n,
                                  factor._options.pointer, factor._solve_info)  # fmt: skip

    x = solve_columns(b, n, factor.dtype, None, solve)
    return x if status == 0 else None
