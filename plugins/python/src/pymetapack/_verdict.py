# SPDX-License-Identifier: BSD-3-Clause
"""What a positive status of a solve becomes: nothing, a warning, or an exception."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ._errors import InaccurateWarning, NotConvergedWarning, SingularMatrixError
from ._lib import lib
from ._types import Array, DType


def _single(dtype: DType) -> bool:
    return bool(np.finfo(dtype).bits == 32)


def judge(status: int, info: Any, dtype: DType, x: Array, asked: bool, message: str,
           stacklevel: int) -> None:  # fmt: skip
    """A positive status of a solve -> nothing, a warning, or SingularMatrixError."""
    limit = 1e-4 if _single(dtype) else 1e-8
    stacklevel += 1
    if status == lib.MPK_NOT_CONVERGED:
        words = message or (
            f"stopped after {info.krylov.iterations} iterations at a relative residual of "
            f"{info.krylov.residual:.1e}"
        )
        warnings.warn(words, NotConvergedWarning, stacklevel=stacklevel)
        return
    error = f"backward error {info.normwise:.1e} normwise, {info.componentwise:.1e} componentwise"
    good = info.normwise <= limit
    if status == lib.MPK_SINGULAR and not good:
        failure = SingularMatrixError(
            f"the matrix is singular and the system inconsistent: {error}", "singular", "solve"
        )
        failure.solution = x
        raise failure
    if status == lib.MPK_INACCURATE and info.componentwise <= (5.4e-6 if _single(dtype) else 1e-14):
        warnings.warn(f"the matrix is singular to working precision, or nearly so, and the solution one of "
                      f"many: {error}", InaccurateWarning, stacklevel=stacklevel)  # fmt: skip
    elif status == lib.MPK_INACCURATE and (asked or not good):
        warnings.warn(f"not as accurate as asked for: {error}", InaccurateWarning,
                      stacklevel=stacklevel)  # fmt: skip
