# SPDX-License-Identifier: BSD-3-Clause
"""Bases of a singular matrix's kernel, and the shortest of its solutions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from ._errors import InaccurateWarning
from ._lib import ffi, lib
from ._matrix import host_array, pointer
from ._options import as_dict
from ._types import Array, VectorLike
from ._vectors import columns, solve_columns

_BEYOND = 8  # columns for vectors where no pivot is zero; more where these are filled

if TYPE_CHECKING:
    from ._factor import Factor


def _vectors(factor: Factor, given: Any) -> Array:
    """Given vectors as columns of the factor's dtype; a copy."""
    v = host_array(given, "vectors")
    v = v.reshape(-1, 1) if v.ndim == 1 else v
    if v.ndim != 2 or v.shape[0] != factor.shape[0]:
        raise ValueError(f"vectors of shape {v.shape}: ({factor.shape[0]}, k) fits this matrix")
    if not np.can_cast(v.dtype, factor.dtype, "same_kind"):
        raise TypeError(f"{v.dtype} vectors do not go into the kernel of a {factor.dtype} matrix")
    return np.array(v, factor.dtype, order="F")


def null_space(factor: Factor, vectors: Any, most: Optional[int], orthonormal: bool) -> Array:
    n = factor.shape[0]
    given = None if vectors is None else _vectors(factor, vectors)
    count = 0 if given is None else given.shape[1]
    info = ffi.new("mpk_null_info *")
    call, fac = factor._ctx.call, factor._fac
    with factor._ctx.lock:
        room = most
        if room is None:
            factor._ctx.check(call(lib.mpk_null_space, fac[0], 0, 0, 0, ffi.NULL, n, ffi.NULL, info))
            zeros = int(info.zero_pivots)
            room = min(n, max(count, zeros + zeros // 16 + _BEYOND))
        elif room < count:
            raise ValueError(f"most = {most}, and {count} vectors are given")
        else:
            room = max(count, min(room, n))  # there are no more
        while True:
            basis = np.empty((n, room), factor.dtype, order="F")
            if given is not None:
                basis[:, :count] = given
            eta = np.zeros(max(1, room))
            status = call(lib.mpk_null_space, fac[0], count, room, int(orthonormal), pointer(basis.T),
                          max(1, n), ffi.cast("double *", ffi.from_buffer(eta)), info,
                          long=factor._long_solve(room), progress=factor._progress)  # fmt: skip
            factor._ctx.check(status)
            if most is not None or not info.beyond or int(info.dimension) < room or room == n:
                break
            room = min(n, room + 8 * int(info.beyond))  # there may be more
        message = factor._ctx.message()[2] if status else ""
        found = int(info.dimension)
        factor._null_info = as_dict(info[0])
        factor._null_info["eta"] = eta[:found].tolist()
    if status:
        warnings.warn(message, InaccurateWarning, stacklevel=3)
    return basis[:, :found] if found == room else basis[:, :found].copy(order="F")


def lstsq(factor: Factor, given: VectorLike, basis: Any, out: Optional[Array]) -> Array:
    n = factor.shape[0]
    v: Optional[Array] = None
    if basis is not None:
        fits = isinstance(basis, np.ndarray) and basis.ndim == 2 and basis.dtype == factor.dtype
        v = basis if fits and columns(basis) and basis.shape[0] == n else _vectors(factor, basis)
    info = ffi.new("mpk_minimum_norm_info *")
    status = 0

    def solve(b: Array, x: Array) -> None:
        nonlocal status
        count = 1 if b.ndim == 1 else b.shape[1]
        status = factor._ctx.call(
            lib.mpk_solve_minimum_norm, factor._fac[0], 0 if v is None else v.shape[1],
            ffi.NULL if v is None else pointer(v.T), max(1, n), count, pointer(b.T), n,
            pointer(x.T), n, factor._options.pointer, info,
            long=factor._long_solve(count), progress=factor._progress)  # fmt: skip
        factor._ctx.check(status)

    with factor._ctx.lock:
        x = solve_columns(given, n, factor.dtype, out, solve)
        message = factor._ctx.message()[2] if status else ""
        factor._shortest_info = as_dict(info[0])
    if status:
        warnings.warn(message, InaccurateWarning, stacklevel=3)
    return x
