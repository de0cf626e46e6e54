# SPDX-License-Identifier: BSD-3-Clause
"""What a positive status of a solve becomes: nothing, a warning, or an exception; and what is said
of a matrix whose triangles differ."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ._errors import (
    InaccurateWarning, NotConvergedWarning, SingularMatrixError, SymmetryWarning,
)  # fmt: skip
from ._lib import lib
from ._types import Array, DType


def judge(status: int, info: Any, x: Array, asked: bool, message: str, stacklevel: int,
          doubt: str = "") -> None:  # fmt: skip
    """A positive status of a solve -> nothing, a warning, or SingularMatrixError.  The library says
    whether x solves the system, row by row (``info.solved``); doubt: what is said instead of
    "inconsistent"."""
    stacklevel += 1
    if not doubt and getattr(info, "krylov", None) and info.krylov.method > lib.MPK_KRYLOV_NONE:
        doubt = "the matrix is singular, and x does not solve the system"
    if status == lib.MPK_NOT_CONVERGED:
        words = message or (
            f"stopped after {info.krylov.iterations} iterations at a relative residual of "
            f"{info.krylov.residual:.1e}"
        )
        warnings.warn(words, NotConvergedWarning, stacklevel=stacklevel)
        return
    error = f"backward error {info.normwise:.1e} normwise, {info.componentwise:.1e} componentwise"
    if status == lib.MPK_SINGULAR and not info.solved:
        words = doubt or "the matrix is singular and the system inconsistent"
        failure = SingularMatrixError(f"{words}: {error}", "singular", "solve")
        failure.solution = x
        raise failure
    if status != lib.MPK_INACCURATE:
        return
    rounding = 5.4e-6 if x.dtype.char in "fF" else 1e-14
    if not asked and info.solved and info.componentwise <= rounding:
        words = f"the matrix is singular to working precision, or nearly so, and the solution one of many: {error}"
    elif not asked and info.solved:
        return
    elif info.componentwise <= 1e-8 and not info.solved and message:
        words = message  # the error is small, and says nothing
    else:
        words = f"not as accurate as asked for: {error}"
    warnings.warn(words, InaccurateWarning, stacklevel=stacklevel)


def tell_apart(asymmetry: Any, stacklevel: int,
               solved: str = "factorized, and errors are measured in the matrix as it was given") -> None:  # fmt: skip
    """A SymmetryWarning, where triangles differ by more than rounding leaves; their mean is ``solved``."""
    if asymmetry.rough == 0:
        return
    warnings.warn(
        f"the two triangles differ in {asymmetry.rough} places by more than rounding leaves, by up "
        f"to {asymmetry.apart:.1e} of the larger entry: their mean is {solved}",
        SymmetryWarning, stacklevel=stacklevel + 1
    )  # fmt: skip


def measure(a: Array, b: Array, x: Array) -> tuple[float, float, Array]:
    """The errors of x (n, k) in the dense matrix a (n, n) that was given: componentwise, and by rows
    as mpk_solves() wants it; and b - A x."""
    r = b - a @ x
    size = np.abs(a)
    w = size @ np.abs(x) + np.abs(b)
    gap = np.abs(r)
    worst = np.divide(gap, w, out=np.where(gap > 0, np.inf, 0.0), where=w > 0).max(initial=0.0)
    norms = size.sum(axis=1, keepdims=True)
    norms[norms == 0] = 1
    top, below = (gap / norms).max(axis=0, initial=0), (np.abs(b) / norms).max(axis=0, initial=0)
    rows = np.divide(top, below, out=np.where(top > 0, np.inf, 0.0), where=below > 0)
    if ((gap > 1e-2 * np.abs(b)) & (gap > 1e-10 * w) & (np.abs(b) > 1e-13 * w)).any():
        return float(worst), float("inf"), r  # a row whose right-hand side x does not resolve
    return float(worst), float(rows.max(initial=0.0)), r


def solves(dtype: DType, componentwise: float, rows: float) -> bool:
    """The library's own answer: does x solve the system?"""
    single = np.finfo(dtype).bits == 32
    return bool(lib.mpk_solves(lib.MPK_S if single else lib.MPK_D, componentwise, rows))
