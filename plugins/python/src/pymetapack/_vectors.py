# SPDX-License-Identifier: BSD-3-Clause
"""Right-hand sides and solutions: shapes, orders and types in, the library's columns out."""

from __future__ import annotations

from typing import Any, Callable, Optional

import numpy as np

from ._matrix import host_array, working_dtype


def _check_shape(b: Any, n: int) -> None:
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise ValueError(
            f"the right-hand side has shape {b.shape}; ({n},) or ({n}, k) fits a matrix of order {n}"
        )


def columns(x: Any) -> bool:
    """Do the columns of x lie as the library wants them, one after the other?"""
    return bool(x.flags.f_contiguous and x.flags.aligned and x.dtype.isnative)


def _check_out(out: Any, b: Any, dtype: Any) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, not {type(out).__name__}")
    if out.shape != b.shape or out.dtype != dtype:
        raise ValueError(f"out is {out.dtype} {out.shape}, and must be {dtype} {b.shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")


def solve_columns(
    b: Any, n: int, dtype: Any, out: Optional[Any], solve: Callable[[Any, Any], None]
) -> Any:
    """Bring b into columns of dtype, call ``solve(b, x)``, give x as the caller wants it.

    A complex b with a real matrix: the real and the imaginary parts are two right-hand sides.
    """
    b = host_array(b, "the right-hand side")
    _check_shape(b, n)
    kind = working_dtype(b.dtype, "the right-hand side")
    result = np.promote_types(dtype, np.complex64) if kind.kind == "c" else dtype
    if out is not None:
        _check_out(out, b, result)
    if result != dtype:
        k = 1 if b.ndim == 1 else b.shape[1]
        parts = np.empty((n, 2 * k), dtype, order="F")
        parts[:, :k] = b.real.reshape(n, k)
        parts[:, k:] = b.imag.reshape(n, k)
        solve(parts, parts)
        x = np.empty(b.shape, result, order="F") if out is None else out
        x.real = parts[:, :k].reshape(b.shape)
        x.imag = parts[:, k:].reshape(b.shape)
        return x
    given = np.asarray(b, dtype=dtype, order="F")
    if not columns(given):
        given = given.copy(order="F")
    direct = out is not None and columns(out)
    if direct and np.may_share_memory(out, given) and not _same(out, given):
        given = given.copy(order="F")
    x = out if direct else np.empty(b.shape, dtype, order="F")
    solve(given, x)
    if out is not None and not direct:
        out[...] = x
    return x if out is None else out


def _same(a: Any, b: Any) -> bool:
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0])
