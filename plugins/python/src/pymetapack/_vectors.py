# SPDX-License-Identifier: BSD-3-Clause
"""Right-hand sides and solutions: shapes, orders and types in, the library's columns out."""

from __future__ import annotations

import sys
from typing import Callable, Optional

import numpy as np

from ._check import check_order
from ._matrix import host_array, working_dtype
from ._types import Array, DType, VectorLike


_AT_ONCE = 1_000_000  # entries


def check_shape(shape: tuple[int, ...], n: int) -> None:
    if len(shape) not in (1, 2) or shape[0] != n:
        raise ValueError(
            f"the right-hand side has shape {shape}; ({n},) or ({n}, k) fits a matrix of order {n}"
        )
    check_order(1 if len(shape) == 1 else shape[1], "the number of right-hand sides")


def columns(x: Array) -> bool:
    """Do the columns of x lie as the library wants them, one after the other?"""
    return bool(x.flags.f_contiguous and x.flags.aligned and x.dtype.isnative)


def _check_out(out: Array, b: Array, dtype: DType) -> None:
    if not isinstance(out, np.ndarray):
        raise TypeError(f"out must be a NumPy array, not {type(out).__name__}")
    if out.shape != b.shape or out.dtype != dtype:
        raise ValueError(f"out is {out.dtype} {out.shape}, and must be {dtype} {b.shape}")
    if not out.flags.writeable:
        raise ValueError("out is read-only")


def _by_columns(b: Array, dtype: DType, fresh: bool = False) -> Array:
    """b as dtype, one column after the other; fresh: a copy.  Some columns at a time: Ctrl-C is heard
    between them."""
    if not fresh and columns(b) and b.dtype == dtype:
        return b
    side = np.empty(b.shape, dtype, order="F")
    if b.ndim == 1 or b.size == 0:
        side[...] = b
        return side
    step = max(1, _AT_ONCE // b.shape[0])
    for k in range(0, b.shape[1], step):
        side[:, k : k + step] = b[:, k : k + step]
    return side


def as_given(given: VectorLike, x: Array) -> Array:
    """x as an array of JAX's where what was given is one: in JAX's precision."""
    if type(given).__module__.partition(".")[0] not in ("jax", "jaxlib"):
        return x
    return sys.modules["jax"].numpy.asarray(x)  # type: ignore[no-any-return]


def solve_columns(
    given: VectorLike,
    n: int,
    dtype: DType,
    out: Optional[Array],
    solve: Callable[[Array, Array], None],
) -> Array:
    """Bring what is given into columns of dtype, call ``solve(b, x)``, give x as the caller wants it.

    A complex b with a real matrix: the real and the imaginary parts are two right-hand sides.
    Without ``out`` a b of JAX's becomes an x of JAX's.
    """
    b = host_array(given, "the right-hand side")
    check_shape(b.shape, n)
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
        return x if out is not None else as_given(given, x)
    side = _by_columns(b, dtype)
    direct = out if out is not None and columns(out) else None
    if direct is not None and np.may_share_memory(direct, side) and not _same(direct, side):
        side = _by_columns(side, dtype, fresh=True)
    x = np.empty(b.shape, dtype, order="F") if direct is None else direct
    solve(side, x)
    if out is None:
        return as_given(given, x)
    if direct is None:
        out[...] = x
    return out


def _same(a: Array, b: Array) -> bool:
    return bool(a.__array_interface__["data"][0] == b.__array_interface__["data"][0])
