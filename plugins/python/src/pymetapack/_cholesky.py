# SPDX-License-Identifier: BSD-3-Clause
"""A factor under the names that scikit-sparse has for CHOLMOD's."""

from __future__ import annotations

from typing import Any, Union

import numpy as np
import scipy.sparse as sp

from ._errors import ArgumentError
from ._factor import Factor, Slogdet
from ._matrix import host_array
from ._types import Array, MatrixLike, OptionValue, SupportsCuda, VectorLike

__all__ = ["Cholesky", "cholesky"]

_ORDERINGS = {"default": "auto", "best": "auto", "amd": "amd", "colamd": "amd", "metis": "nd", "nesdis": "nd",
              "natural": "natural"}  # fmt: skip


class Cholesky:
    """P A Pᵀ = L D Lᴴ with unit lower triangular L, made by :func:`cholesky`.

    Its names are those of ``sksparse.cholmod.Factor``: calling it solves, ``solve_L`` and its like solve
    with the parts in the order of ``P()``.  A need not be definite: D then has negative entries, and
    blocks of order 2.  METAPACK's own :class:`Factor` is ``factor``; its scaling S is taken back, L here
    is (P S Pᵀ)⁻¹ L (P S Pᵀ) there.  L itself is not given out: ``L``, ``L_D`` and ``LD`` are missing.

    >>> import numpy as np, pymetapack
    >>> from scipy.sparse import csc_matrix
    >>> A = csc_matrix([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]])
    >>> F = pymetapack.cholesky(A)
    >>> F(A @ [1.0, 2, 3]).round(12)
    array([1., 2., 3.])
    >>> bool(np.isclose(F.logdet(), np.log(np.linalg.det(A.toarray()))))
    True
    """

    def __init__(self, factor: Factor) -> None:
        self.factor = factor

    def cholesky_inplace(self, A: MatrixLike, beta: float = 0) -> None:
        """New values with the same pattern."""
        self.factor.refactor(_shifted(A, beta))

    def cholesky(self, A: MatrixLike, beta: float = 0) -> Cholesky:
        """Another factorization, by the same order."""
        return cholesky(A, beta, given_perm=self.P())

    # ---- solves ----------------------------------------------------------------------------------

    def solve_A(self, b: VectorLike) -> Union[Array, SupportsCuda]:
        """A⁻¹ b, refined and checked."""
        return self.factor.solve(b)

    __call__ = solve_A

    def _scales(self, b: Array) -> Array:
        """The diagonal of P S Pᵀ beside b."""
        s = self.factor.scale[self.P()].astype(self.factor.dtype)
        return s if b.ndim == 1 else s[:, None]

    def _dense(self, b: VectorLike) -> Array:
        return host_array(b, "the right-hand side")

    def apply_P(self, b: VectorLike) -> Array:
        """P b: entry k is that of row P()[k]."""
        return np.asarray(self._dense(b)[self.P()])

    def apply_Pt(self, b: VectorLike) -> Array:
        """Pᵀ b."""
        b = self._dense(b)
        out = np.empty_like(b)
        out[self.P()] = b
        return out

    def solve_L(self, b: VectorLike, use_LDLt_decomposition: bool = True) -> Array:
        """L⁻¹ b; False: (L D^½)⁻¹ b, of a definite A."""
        b = self._dense(b)
        x = np.asarray(self.factor.solve_part("L", self.apply_Pt(b))) / self._scales(b)
        return x if use_LDLt_decomposition else self._root(x)

    def solve_Lt(self, b: VectorLike, use_LDLt_decomposition: bool = True) -> Array:
        """L⁻ᴴ b; False: (L D^½)⁻ᴴ b, of a definite A."""
        b = self._dense(b)
        if not use_LDLt_decomposition:
            b = self._root(b)
        return self.apply_P(np.asarray(self.factor.solve_part("LT", b / self._scales(b))))

    def solve_D(self, b: VectorLike) -> Array:
        """D⁻¹ b."""
        b = self._dense(b)
        s = self._scales(b)
        return np.asarray(s * np.asarray(self.factor.solve_part("D", s * b)))

    def solve_LD(self, b: VectorLike) -> Array:
        """(L D)⁻¹ b."""
        return self.solve_D(self.solve_L(b))

    def solve_DLt(self, b: VectorLike) -> Array:
        """(D Lᴴ)⁻¹ b."""
        return self.solve_Lt(self.solve_D(b))

    def _root(self, x: Array) -> Array:
        """D^-½ x."""
        d = self.D()
        if not np.all(d > 0) or self.factor.D.nnz != len(d):
            raise ArgumentError("L D^½ is that of a positive definite matrix with pivots of order 1",
                                "argument", "solve")  # fmt: skip
        root = np.sqrt(d).astype(x.dtype)
        return np.asarray(x / (root if x.ndim == 1 else root[:, None]))

    # ---- what there is to know -------------------------------------------------------------------

    def P(self) -> Array:
        """The row of A at each position of L."""
        return self.factor.perm

    def D(self) -> Array:
        """The diagonal of D, real of real and Hermitian matrices."""
        s = self.factor.scale[self.P()]
        d = self.factor.D.diagonal() / s**2
        return np.asarray(d.real if self.factor.hermitian or d.dtype.kind != "c" else d)

    def slogdet(self) -> Slogdet:
        return self.factor.slogdet

    def logdet(self) -> float:
        """log |det A|."""
        return self.factor.logdet

    def det(self) -> np.number[Any]:
        sign, log = self.factor.slogdet
        det: np.number[Any] = sign * np.exp(log)
        return det

    def inv(self) -> sp.csc_matrix:
        """A⁻¹, which is dense: for small matrices.  Its entries where A has some, in a fraction of
        the time and memory: ``factor.selected_inverse()``."""
        return sp.csc_matrix(self.factor.solve(np.eye(self.factor.shape[0], dtype=self.factor.dtype)))


def _shifted(A: Any, beta: float) -> Any:
    if beta == 0:
        return A
    return sp.csc_matrix(A) + beta * sp.identity(A.shape[0], format="csc")


def cholesky(A: MatrixLike, beta: float = 0, mode: str = "auto", ordering_method: str = "default",
             **options: OptionValue) -> Cholesky:  # fmt: skip
    """Factorize A + beta I, as sksparse.cholmod.cholesky does: the lower triangle counts.

    Parameters
    ----------
    A : sparse or dense matrix of shape (n, n), symmetric, or Hermitian where it is complex
    beta : float
    mode : {"auto", "simplicial", "supernodal"}
        Without effect.
    ordering_method : {"default", "best", "amd", "colamd", "metis", "nesdis", "natural"}
        METAPACK's choice (the first two), minimum degree, nested dissection, none.
    **options
        Those of :func:`ldl`.

    Returns
    -------
    Cholesky
        Also of an A that is not definite: ``F.factor.inertia`` tells.
    """
    if mode not in ("auto", "simplicial", "supernodal"):
        raise ValueError(f"mode must be 'auto', 'simplicial' or 'supernodal', not {mode!r}")
    if ordering_method not in _ORDERINGS:
        raise ValueError(f"ordering_method must be one of {', '.join(_ORDERINGS)}, not {ordering_method!r}")
    if "given_perm" not in options:
        options.setdefault("ordering", _ORDERINGS[ordering_method])
    options.setdefault("method", "ldlt")
    a: Any = _shifted(A, beta)
    hermitian = np.dtype(a.dtype).kind == "c"
    return Cholesky(Factor(a, True, hermitian, "warn", None, dict(options)))
