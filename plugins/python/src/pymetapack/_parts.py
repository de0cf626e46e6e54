# SPDX-License-Identifier: BSD-3-Clause
"""Parts of a factor as operators, and samples of the normal distribution with covariance A⁻¹."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ._errors import ArgumentError
from ._types import Array

if TYPE_CHECKING:
    from ._factor import Factor

_PARTS = ("L", "D", "LT", "sqrt")


def root_of_inverse(D: sp.csc_matrix, hermitian: bool) -> sp.csc_matrix:
    """R with R Rᴴ = D⁻¹, upper bidiagonal in each block.  ArgumentError: D is not definite."""
    if D.dtype.kind == "c" and not hermitian:
        raise ArgumentError("a complex symmetric matrix has no real square root of this kind",
                            "argument", "part")  # fmt: skip
    main, below = D.diagonal().real.copy(), D.diagonal(-1)
    first = np.flatnonzero(below)  # of each block of order 2
    # D = C Cᴴ by blocks; R = C⁻ᴴ
    with np.errstate(invalid="ignore", divide="ignore"):
        c1 = np.sqrt(main[first])
        c2 = below[first] / c1
        main[first + 1] -= np.abs(c2) ** 2
        if not np.all(main > 0):
            raise ArgumentError("the matrix is not positive definite: it has no square root",
                                "argument", "part")  # fmt: skip
        diagonal = 1 / np.sqrt(main)
    above = np.zeros(max(0, D.shape[0] - 1), D.dtype)
    above[first] = -c2.conj() * diagonal[first] * diagonal[first + 1]
    return sp.diags([diagonal.astype(D.dtype), above], [0, 1], format="csc")


class Part(LinearOperator):  # type: ignore[misc]
    """One of the parts of A⁻¹ = (S Pᵀ L⁻ᵀ) D⁻¹ (L⁻¹ P S), applied without refinement."""

    def __init__(self, factor: Factor, part: str) -> None:
        if part not in _PARTS:
            raise ValueError(f"part must be one of {', '.join(_PARTS)}, not {part!r}")
        if factor._general:
            raise NotImplementedError("the factor of a matrix that is not symmetric has no such parts")
        super().__init__(factor.dtype, factor.shape)
        self.factor = factor
        self.part = part
        self._number = factor._number
        self._root: Optional[Any] = None
        if part == "sqrt":
            self._root = root_of_inverse(factor.D, factor.hermitian)

    def _apply(self, part: str, x: Array) -> Array:
        """Of the values that the part was made of: those of L and D come from the factor."""
        if self._root is not None and self._number != self.factor._number:
            raise ArgumentError("the factor holds other values by now: ask for its part anew",
                                "argument", "part")  # fmt: skip
        return np.asarray(self.factor.solve_part(part, x))

    def _matmat(self, x: Array) -> Array:
        if self._root is not None:
            return self._apply("LT", self._root @ x)
        return self._apply(self.part, x)

    def _matvec(self, x: Array) -> Array:
        return self._matmat(np.asarray(x).reshape(-1))

    def _adjoint(self) -> LinearOperator:
        """Lᵀ's part is the transpose of L's, D's its own; that of W is D^-½ᴴ L⁻¹ P S."""
        turn = np.conj if self.dtype.kind == "c" and not self.factor.hermitian else np.asarray

        def apply(x: Array) -> Array:
            x = np.asarray(x)
            if self._root is not None:
                return np.asarray(self._root.conj().T @ self._apply("L", x))
            return np.asarray(turn(self._apply({"L": "LT", "LT": "L"}.get(self.part, self.part), turn(x))))

        return LinearOperator(self.shape, matvec=lambda x: apply(np.asarray(x).reshape(-1)), matmat=apply,
                              rmatvec=self._matvec, rmatmat=self._matmat, dtype=self.dtype)  # fmt: skip


def sample(factor: Factor, k: Optional[int], rng: Any) -> Array:
    """W z with z of independent standard normal entries."""
    W = Part(factor, "sqrt")
    rng = np.random.default_rng(rng)
    shape = (factor.shape[0],) if k is None else (factor.shape[0], int(k))
    z = rng.standard_normal(shape)
    if factor.dtype.kind == "c":
        z = (z + 1j * rng.standard_normal(shape)) / np.sqrt(2)
    z = z.astype(factor.dtype)
    return np.asarray(W._matmat(z))
