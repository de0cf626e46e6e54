# SPDX-License-Identifier: BSD-3-Clause
"""Solves with few rows of b and few rows of x."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from ._errors import ArgumentError, InaccurateWarning
from ._lib import ffi, lib
from ._matrix import pointer, working_dtype
from ._options import as_dict
from ._types import Array
from ._verdict import judge

if TYPE_CHECKING:
    from ._factor import Factor

_CHECKS = {"none": "MPK_SPARSE_BARE", "rows": "MPK_SPARSE_ROWS", "full": "MPK_SPARSE_FULL"}


def _list(values: Any, n: int, name: str = "rows") -> Array:
    """Rows as the library has them; what does not fit 32 bits is refused, not cut."""
    rows = np.asarray(values).reshape(-1)
    if rows.size and rows.dtype.kind not in "iu":
        raise TypeError(f"rows are integers, not {rows.dtype}")
    wrong = np.flatnonzero((rows < 0) | (rows >= n))
    if wrong.size:
        raise ArgumentError(f"{name}[{wrong[0]}] = {rows[wrong[0]]} is no row of {n}",
                            "argument", "solve_sparse")  # fmt: skip
    return np.ascontiguousarray(rows, np.int32)


def solve_sparse(factor: Factor, given: Any, rows: Any, check: str) -> Array:
    n, dtype = factor.shape[0], factor.dtype
    if check not in _CHECKS:
        raise ValueError(f"check must be 'none', 'rows' or 'full', not {check!r}")
    B = sp.csc_matrix(given)
    if B.shape[0] != n:
        raise ValueError(f"B has shape {B.shape}; ({n}, k) fits a matrix of order {n}")
    if working_dtype(B.dtype, "B").kind == "c" and dtype.kind != "c":
        parts = [solve_sparse(factor, part, rows, check) for part in (B.real, B.imag)]
        return np.asfortranarray(parts[0] + 1j * parts[1])
    value = np.ascontiguousarray(B.data, dtype)
    row = _list(B.indices, n, "B.indices")
    ptr = np.ascontiguousarray(B.indptr, np.int64)
    wanted = None if rows is None else _list(rows, n)
    count = n if wanted is None else len(wanted)
    x = np.empty((count, B.shape[1]), dtype, order="F")
    info = ffi.new("mpk_sparse_info *")
    with factor._ctx.lock:
        status = factor._ctx.call(
            lib.mpk_solve_sparse, factor._fac[0], B.shape[1],
            ffi.cast("int64_t *", ffi.from_buffer(ptr)), _int32(row), pointer(value), count,
            ffi.NULL if wanted is None else _int32(wanted), getattr(lib, _CHECKS[check]), pointer(x.T),
            max(1, count), info, long=factor._long_solve(B.shape[1]), progress=factor._progress)  # fmt: skip
        factor._ctx.check(status)
        message = factor._ctx.message()[2] if status else ""
        factor._sparse_info = as_dict(info[0])
    if check == "full":
        judge(status, info.solve, x, "accuracy" in factor._options.given, message, 3)
    elif status == lib.MPK_INACCURATE:
        warnings.warn(message, InaccurateWarning, stacklevel=3)
    return x


def _int32(array: Array) -> Any:
    return ffi.cast("int32_t *", ffi.from_buffer(array)) if array.size else ffi.new("int32_t[1]")
