# SPDX-License-Identifier: BSD-3-Clause
"""Entries of A⁻¹ from a direct factor: its diagonal, or those on A's pattern."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import scipy.sparse as sp

from ._errors import ArgumentError, InaccurateWarning, SingularMatrixError
from ._lib import ffi, lib
from ._matrix import destroy_problem, pointer, view_of
from ._types import Array

if TYPE_CHECKING:
    from ._factor import Factor


def select(factor: Factor, what: int, accuracy: Optional[float], stacklevel: int) -> Array:
    """The entries of a selection, in the library's order."""
    factor._with_values()
    ctx = factor._ctx
    with ctx.lock:
        used = factor._options.copy(ctx, {"accuracy": -1.0 if accuracy is None else accuracy})
        size = lib.mpk_selected_size(factor._fac[0], what)
        out: Array = np.empty(size // factor.dtype.itemsize, factor.dtype)
        info = ffi.new("mpk_selected_info *")
        status = ctx.call(lib.mpk_selected_inverse, factor._fac[0], what, pointer(out), out.nbytes,
                          used.pointer, info, long=factor._long, progress=factor._progress)  # fmt: skip
        message = ctx.message()[2] if status != 0 else ""
        ctx.check(status)
        factor._selected_info = info
    if status == lib.MPK_SINGULAR:
        raise SingularMatrixError(message, "singular", "inverse")
    if status == lib.MPK_INACCURATE:
        warnings.warn(message, InaccurateWarning, stacklevel=stacklevel + 1)
    return out


def on_pattern(factor: Factor, values: Array) -> sp.csc_matrix:
    """Both triangles, from the lower one by columns.  Entries that are zero stay."""
    n = factor.shape[0]
    problem = factor._m.problem(factor._ctx, np.zeros(len(factor._m.indices), factor.dtype))
    try:
        view = view_of(problem)
        indptr = _copy(view.ap, n + 1, np.int64)
        rows = _copy(view.ai, int(view.nnz), np.int32)
    finally:
        destroy_problem(problem)
    cols = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    below = rows != cols
    other = values[below].conj() if factor.hermitian else values[below]
    return sp.csc_matrix(
        (
            np.concatenate([values, other]),
            (np.concatenate([rows, cols[below]]), np.concatenate([cols, rows[below]])),
        ),
        shape=factor.shape,
    )


def variances(factor: Factor, accuracy: Optional[float], stacklevel: int) -> Array:
    """The diagonal, of a definite A."""
    counts = factor.inertia
    if counts.positive < factor.shape[0]:
        raise ArgumentError("the matrix is not positive definite: it is no precision matrix",
                            "argument", "inverse")  # fmt: skip
    diagonal = select(factor, lib.MPK_SELECT_DIAGONAL, accuracy, stacklevel + 1)
    return np.ascontiguousarray(diagonal.real)


def _copy(address: Any, count: int, dtype: Any) -> Array:
    if count == 0:
        return np.empty(0, dtype)
    return np.frombuffer(ffi.buffer(address, count * np.dtype(dtype).itemsize), dtype).copy()
