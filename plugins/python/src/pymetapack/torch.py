# SPDX-License-Identifier: BSD-3-Clause
"""PyTorch: A⁻¹ b and log|det A| of sparse symmetric and Hermitian matrices, with gradients.

>>> import torch, pymetapack.torch                                          # doctest: +SKIP
>>> A = torch.tensor([[2.0, 1], [1, 0]], dtype=torch.float64).to_sparse_csr().requires_grad_()
>>> pymetapack.torch.solve(A, torch.tensor([3.0, 1], dtype=torch.float64)).sum().backward()

:func:`solve`, :func:`logdet` and :func:`slogdet` take a sparse tensor; a :class:`Solver` is made of a
pattern once, and its methods take values, batches of them too.  One factorization serves forward and
backward.  docs/guide/gradients.md has the conventions.
"""

from __future__ import annotations

from typing import Any, Dict, Optional, Tuple, Union

import torch
from torch import Tensor

from ._adjoint import (
    Last, Layout, columns, compressed_places, places_of, square, value_count,
)  # fmt: skip
from ._factors import Factors, again
from ._torch import Indices, Kept, Pack, SlogDet, Solve, forward_once, there, working
from ._types import OptionValue, SparseMatrix

__all__ = ["Solver", "logdet", "slogdet", "solve"]


class Solver:
    """A⁻¹ b and log|det A| for all matrices of one pattern, with gradients in their values.

    Parameters
    ----------
    A : sparse tensor (sparse_csr, sparse_csc, sparse_coo), or SciPy's sparse matrix, of shape (n, n)
        Its pattern counts, explicit zeros too: values are in the order of ``A.values()`` (of a
        coalesced COO tensor), or ``A.data``.
    lower : bool, optional
        True, False: the lower, the upper triangle counts; an entry of it stands for its mirror image,
        too, and its gradient is that of both.  Entries of the other triangle have the gradient 0.
        None: both triangles are there; a matrix is the mean of the two, which are checked to agree,
        and the gradient is symmetric (Hermitian).
    hermitian : bool
        Complex values: A = Aᴴ (True) or A = Aᵀ.
    singular : {"warn", "raise", "ignore"}
        What becomes of zero pivots, as with :func:`pymetapack.ldl`.
    keep : int
        So many of the last factors are kept for the next call with the same values; those that a
        graph needs are, in any case.
    **options
        Options of the library: ``ordering="metis"``, ``refine=0``, ``threads=1``, ...

    The pattern is analysed with the first values, for each type once.  Any thread may use it.  A copy, or
    what is pickled, has the pattern and the options.

    >>> import numpy as np, scipy.sparse as sp, torch, pymetapack.torch         # doctest: +SKIP
    >>> solver = pymetapack.torch.Solver(sp.csc_matrix(np.array([[2.0, 0], [1, -1]])), lower=True)
    >>> values = torch.tensor([2.0, 1, -1], dtype=torch.float64, requires_grad=True)
    >>> x = solver.solve(values, torch.tensor([3.0, 0], dtype=torch.float64))
    >>> (x.sum() + solver.logdet(values)).backward()
    """

    def __init__(self, A: Union[Tensor, SparseMatrix], *, lower: Optional[bool] = None, hermitian: bool = False,
                 singular: str = "warn", keep: int = 1, **options: OptionValue) -> None:  # fmt: skip
        rows, cols, n = _pattern(A)
        tolerance = options.get("symmetry_tolerance", -1.0)
        self._layout = Layout(n, rows, cols, lower, hermitian, tolerance)
        self._at = Indices(self._layout)
        self._factors = Factors(self._layout, singular, keep, options)
        self.shape = (n, n)

    @property
    def nnz(self) -> int:
        """How many values there are."""
        return self._layout.nnz

    @property
    def factorizations(self) -> int:
        """So many were made."""
        return self._factors.count

    def _pack(self, values: Tensor) -> Tensor:
        forward_once()
        values = working(values, "the values")
        value_count(values.shape, self.nnz)
        if self._layout.same and not (self._layout.hermitian and values.is_complex()):
            return values
        return Pack.apply(values, self._at)

    def solve(self, values: Tensor, b: Tensor) -> Tensor:
        """Solve A x = b.

        Parameters
        ----------
        values : tensor of shape (..., nnz)
            float32, float64, complex64 or complex128, in host memory.
        b : tensor of shape (n,), (..., n) or (..., n, k)
            One vector, one for each of the matrices, or columns; (..., n) is taken only if it is the
            values' batch.  Batch dimensions are broadcast as those of torch.linalg.solve.

        Returns
        -------
        x : tensor of shape (n,), (..., n) or (..., n, k), of the common type

        Raises
        ------
        SingularMatrixError
            A is singular and b not in its range; in backward also: A is singular.
        InputError
            NaN, infinity, triangles that differ.
        PatternError, TypeError, ValueError
            Shapes, types and places that do not fit.

        Warns
        -----
        ZeroPivotWarning, InaccurateWarning, SymmetryWarning, as :func:`pymetapack.ldl` and its solve
        """
        values, b = working(values, "the values"), working(b, "the right-hand side")
        value_count(values.shape, self.nnz)
        if b.dim() == 0:
            raise ValueError("the right-hand side is a number; (n,) or (..., n, k) is wanted")
        many = columns(b.dim(), b.shape, values.shape, self.shape[0])
        dtype = torch.promote_types(values.dtype, b.dtype)
        real = not values.is_complex()
        packed = self._pack(values.to(dtype.to_real() if real else dtype))
        side = b.to(dtype) if many else b.to(dtype)[..., None]
        if real and side.is_complex():  # two real right-hand sides
            parts = self._apply(packed, torch.cat([side.real, side.imag], -1))
            k = side.shape[-1]
            x = torch.complex(parts[..., :k], parts[..., k:])
        else:
            x = self._apply(packed, side)
        return x if many else x[..., 0]

    def _apply(self, packed: Tensor, side: Tensor) -> Tensor:
        return Solve.apply(packed, side, self._at, self._factors, Kept())

    def slogdet(self, values: Tensor) -> Tuple[Tensor, Tensor]:
        """(sign, log|det A|), each of shape (...) for values (..., nnz): (0, -inf) of a singular matrix.

        The gradient takes the entries of A⁻¹ on A's pattern: one to two and a half factorizations.  A
        gradient of this gradient takes all of A⁻¹, by 2 n solves.  SingularMatrixError in backward: A
        is singular."""
        sign, log = SlogDet.apply(self._pack(values), self._at, self._factors, Kept())
        return sign, log

    def logdet(self, values: Tensor) -> Tensor:
        """log|det A|, of shape (...): the second of :meth:`slogdet`."""
        return self.slogdet(values)[1]

    def __reduce__(self) -> Any:
        return again, (Solver, *self._factors.recipe())

    def __repr__(self) -> str:
        return f"<Solver of a {self.shape[0]} x {self.shape[0]} pattern of {self.nnz} values>"


def _pattern(A: Any) -> Tuple[Any, Any, int]:
    """Rows and columns in the order of the values, and n."""
    if not isinstance(A, Tensor):
        return places_of(A)
    there(A, "the matrix")
    if A.layout not in (torch.sparse_csr, torch.sparse_csc, torch.sparse_coo):
        raise TypeError(f"the matrix has layout {A.layout}: sparse_csr, sparse_csc and sparse_coo are "
                        "taken (A.to_sparse_csr())")  # fmt: skip
    if A.dim() != 2 or (A.layout == torch.sparse_coo and A.dense_dim()):
        raise ValueError(f"the matrix has shape {tuple(A.shape)}: for a batch make a Solver of one "
                         "pattern, and give it values of shape (..., nnz)")  # fmt: skip
    n = square(tuple(A.shape))
    if A.layout == torch.sparse_coo:
        rows, cols = A.detach().coalesce().indices().numpy()
        return rows, cols, n
    by_rows = A.layout == torch.sparse_csr
    ptr, minor = (
        (A.crow_indices(), A.col_indices()) if by_rows else (A.ccol_indices(), A.row_indices())
    )
    return (*compressed_places(ptr.numpy(), minor.numpy(), by_rows), n)


_last = Last()


def _of(A: Tensor, options: Dict[str, Any]) -> Tuple[Solver, Tensor]:
    """A solver for its pattern, and its values."""
    if not isinstance(A, Tensor):
        raise TypeError(f"a sparse tensor is wanted, not {type(A).__name__}")
    if A.layout == torch.sparse_csc and A.requires_grad:
        raise TypeError("the matrix has layout torch.sparse_csc, of which PyTorch has no gradients: give "
                        "A.to_sparse_csr(), or a Solver the values")  # fmt: skip
    rows, cols, n = _pattern(A)
    solver = _last.of(n, rows, cols, options, Solver)
    return solver, A.coalesce().values() if A.layout == torch.sparse_coo else A.values()


def solve(A: Tensor, b: Tensor, *, lower: Optional[bool] = None, hermitian: bool = False,
          singular: str = "warn", **options: OptionValue) -> Tensor:  # fmt: skip
    """Solve A x = b with a sparse tensor A of shape (n, n); the other parameters, errors and warnings are
    those of :class:`Solver` and its ``solve``.  The gradient in A is sparse, with A's pattern.

    A call with the pattern of the thread's last one takes its analysis, and with the same values its
    factor."""
    solver, values = _of(A, dict(options, lower=lower, hermitian=hermitian, singular=singular))
    return solver.solve(values, b)


def slogdet(A: Tensor, *, lower: Optional[bool] = None, hermitian: bool = False,
            singular: str = "warn", **options: OptionValue) -> Tuple[Tensor, Tensor]:  # fmt: skip
    """(sign, log|det A|) of a sparse tensor: :meth:`Solver.slogdet`, otherwise as :func:`solve`."""
    solver, values = _of(A, dict(options, lower=lower, hermitian=hermitian, singular=singular))
    return solver.slogdet(values)


def logdet(A: Tensor, *, lower: Optional[bool] = None, hermitian: bool = False,
           singular: str = "warn", **options: OptionValue) -> Tensor:  # fmt: skip
    """log|det A| of a sparse tensor: :meth:`Solver.logdet`, otherwise as :func:`solve`."""
    return slogdet(A, lower=lower, hermitian=hermitian, singular=singular, **options)[1]
