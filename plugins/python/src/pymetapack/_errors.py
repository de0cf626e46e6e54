# SPDX-License-Identifier: BSD-3-Clause
"""What can go wrong: one exception or warning for each status of the library.

Every exception is a :class:`MetapackError` and also the built-in exception that fits, so that
``except ValueError`` and ``except MemoryError`` do what one expects.
"""

from __future__ import annotations

from typing import Optional

import numpy as np

from ._types import Array

__all__ = [
    "ArgumentError", "CancelledError", "DeviceError", "FileError", "FormatError",
    "InaccurateWarning", "InputError", "InternalError", "MemoryLimitError", "MetapackError",
    "MetapackWarning", "NotConvergedWarning", "NumericError", "PatternError", "SingularMatrixError",
    "SizeError", "SymmetryWarning", "UnsupportedError", "ZeroPivotWarning",
]  # fmt: skip


class MetapackError(Exception):
    """A call of the library failed.

    Attributes
    ----------
    status : str
        The library's name of the outcome: ``"input"``, ``"memory"``, ...
    stage : str
        Where it happened: ``"problem"``, ``"analyse"``, ``"factorize"``, ``"solve"``, ...
    index : int
        What it is about (entry, row, bytes); -1: nothing in particular.
    """

    def __init__(self, message: str, status: str = "", stage: str = "", index: int = -1) -> None:
        super().__init__(message)
        self.status = status
        self.stage = stage
        self.index = index


class ArgumentError(MetapackError, ValueError):
    """An option out of its range, a wrong length, a factor without values."""


class FileError(MetapackError, OSError):
    """A file cannot be opened, read or written."""


class FormatError(MetapackError, ValueError):
    """A file's content is not what its format asks for."""


class InputError(MetapackError, ValueError):
    """The matrix or the right-hand side: NaN, infinity, index out of range, not symmetric."""


class PatternError(MetapackError, ValueError):
    """The matrix given to ``refactor`` has another pattern than the factorized one."""


class SizeError(MetapackError, OverflowError):
    """A size does not fit its type (orders go up to 2**31 - 1)."""


class MemoryLimitError(MetapackError, MemoryError):
    """An allocation failed, or the predicted memory exceeds ``memory_limit``."""


class DeviceError(MetapackError, RuntimeError):
    """A backend is absent or failed."""


class CancelledError(MetapackError, RuntimeError):
    """The progress callback asked to stop."""


class UnsupportedError(MetapackError, NotImplementedError):
    """Valid, but this build or version cannot do it."""


class NumericError(MetapackError, ArithmeticError):
    """The factors overflowed."""


class InternalError(MetapackError, RuntimeError):
    """A checker found a broken invariant: a defect of METAPACK."""


class SingularMatrixError(MetapackError, np.linalg.LinAlgError):
    """The matrix is singular and no solution was found.

    ``solution`` is the best x that was found, or None.
    """

    solution: Optional[Array] = None


class MetapackWarning(UserWarning):
    """A result can be used, but not as it was asked for."""


class ZeroPivotWarning(MetapackWarning):
    """Zero pivots were met: the matrix is numerically singular, and only consistent systems have
    a solution."""


class InaccurateWarning(MetapackWarning):
    """The backward error that was reached is worse than the one asked for."""


class SymmetryWarning(MetapackWarning):
    """The two triangles of the matrix differ by more than rounding leaves, but less than the
    tolerance of symmetry: their mean is factorized, and errors are measured in the matrix as it
    was given."""


class NotConvergedWarning(MetapackWarning):
    """An iterative method stopped before its tolerance."""


by_name: dict[str, type[MetapackError]] = {
    "MPK_ERR_ARGUMENT": ArgumentError,
    "MPK_ERR_FILE": FileError,
    "MPK_ERR_FORMAT": FormatError,
    "MPK_ERR_INPUT": InputError,
    "MPK_ERR_SIZE": SizeError,
    "MPK_ERR_MEMORY": MemoryLimitError,
    "MPK_ERR_DEVICE": DeviceError,
    "MPK_ERR_CANCELLED": CancelledError,
    "MPK_ERR_UNSUPPORTED": UnsupportedError,
    "MPK_ERR_NUMERIC": NumericError,
    "MPK_ERR_INTERNAL": InternalError,
}
