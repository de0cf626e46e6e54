# SPDX-License-Identifier: BSD-3-Clause
"""A factor as a scipy.sparse.linalg.LinearOperator, on the processor and on a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import numpy as np
from scipy.sparse.linalg import LinearOperator

from ._device import conjugate, lies_there
from ._types import Array

if TYPE_CHECKING:
    from ._factor import Factor


class Inverse(LinearOperator):  # type: ignore[misc]
    """What Factor's two operators have in common."""

    def __init__(self, factor: Factor, apply: Callable[[Array], Array]) -> None:
        super().__init__(factor.dtype, factor.shape)
        self.factor = factor
        self._apply = apply

    def matvec(self, x: Any) -> Any:
        return self._apply(x) if lies_there(x) else super().matvec(x)

    def matmat(self, X: Any) -> Any:
        return self._apply(X) if lies_there(X) else super().matmat(X)

    def rmatvec(self, x: Any) -> Any:
        return self._adjoint().matvec(x) if lies_there(x) else super().rmatvec(x)

    def rmatmat(self, X: Any) -> Any:
        return self._adjoint().matmat(X) if lies_there(X) else super().rmatmat(X)

    def dot(self, x: Any) -> Any:
        return self._apply(x) if lies_there(x) else super().dot(x)

    def _matvec(self, x: Array) -> Array:
        return self._apply(x)

    def _matmat(self, x: Array) -> Array:
        return self._apply(x)

    def _turned(self, trans: str) -> LinearOperator:
        """Of a matrix that is not symmetric: with its transpose, where the factor has that."""
        self.factor._turned(trans)
        return Inverse(self.factor, lambda x: np.asarray(self.factor.solve(x, trans=trans)))

    def _adjoint(self) -> LinearOperator:
        if self.factor._general:
            return self._turned("H")
        if self.factor.hermitian or self.factor.dtype.kind != "c":
            return self
        return Inverse(self.factor, lambda x: conjugate(self._apply(conjugate(x))))

    def _transpose(self) -> LinearOperator:
        if self.factor._general:
            return self._turned("T")
        if not self.factor.hermitian:
            return self
        return Inverse(self.factor, lambda x: conjugate(self._apply(conjugate(x))))
