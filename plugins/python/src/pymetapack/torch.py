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

from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function

from ._adjoint import (
    Last, Layout, columns, compressed_places, places_of, square, value_count,
)  # fmt: skip
from ._factors import Factors, Held
from ._types import OptionValue, SparseMatrix

__all__ = ["Solver", "logdet", "slogdet", "solve"]

_TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
_BLOCK = 64  # columns at once of what takes all of A⁻¹


def _host(x: Tensor) -> Any:
    """As NumPy has it."""
    return x.detach().resolve_conj().resolve_neg().numpy()


def _tensor(x: Any) -> Tensor:
    return torch.from_numpy(np.asarray(x, order="C"))


def _there(x: Tensor, what: str) -> None:
    if x.device.type != "cpu":
        raise TypeError(f"{what} lies on {x.device}: derivatives are computed on the processor; give "
                        f"x.cpu(), or solve without derivatives by pymetapack.ldl")  # fmt: skip


def _working(x: Tensor, what: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{what}: a tensor is wanted, not {type(x).__name__}")
    _there(x, what)
    if x.layout != torch.strided:
        raise TypeError(f"{what} has layout {x.layout}; a dense tensor is wanted")
    if x.dtype in _TYPES:
        return x
    if not x.is_floating_point():
        return x.to(torch.float64)
    raise TypeError(f"{what} has dtype {x.dtype}: float32, float64, complex64 and complex128 are solved "
                    "(integers as float64)")  # fmt: skip


class _Indices:
    """Those of a layout, as tensors; what of it is linear."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.hermitian = layout.hermitian
        self.rows, self.cols = torch.from_numpy(layout.rows), torch.from_numpy(layout.cols)
        self.slot = torch.from_numpy(np.maximum(layout.slot, 0))
        self.mirrored = torch.from_numpy(layout.mirrored)
        self.diagonal = torch.from_numpy(layout.diagonal)
        self.weight = torch.from_numpy(layout.weight)
        self.twice = torch.where(self.diagonal, 1.0, 2.0).to(torch.float64)

    def real(self, weights: Tensor, x: Tensor) -> Tensor:
        return weights.to(x.real.dtype)

    def push(self, tangent: Tensor) -> Tensor:
        """dl of d values."""
        part = tangent * self.real(self.weight, tangent)
        part = self.turn(part)
        l = torch.zeros((*part.shape[:-1], self.layout.size), dtype=part.dtype)
        return self.clean(l.index_add(-1, self.slot, part))

    def pull(self, gradient: Tensor) -> Tensor:
        """The gradient in the values of the one in l."""
        return self.turn(self.clean(gradient)[..., self.slot] * self.real(self.weight, gradient))

    def turn(self, x: Tensor) -> Tensor:
        """Conjugated above the diagonal."""
        return torch.where(self.mirrored, x.conj(), x) if self.hermitian and x.is_complex() else x

    def clean(self, x: Tensor) -> Tensor:
        """The diagonal of a Hermitian matrix is real."""
        if not self.hermitian or not x.is_complex():
            return x
        return torch.where(self.diagonal, torch.complex(x.real, torch.zeros_like(x.real)), x)

    def product(self, l: Tensor, x: Tensor) -> Tensor:
        """A x of l (..., size) and x (..., n, k)."""
        above = l.conj() if self.hermitian else l
        below = l[..., None] * x[..., self.cols, :]
        above = torch.where(self.diagonal, 0.0, above)[..., None] * x[..., self.rows, :]
        shape = (*below.shape[:-2], self.layout.n, below.shape[-1])
        zero = torch.zeros(shape, dtype=below.dtype)
        return zero.index_add(-2, self.rows, below).index_add(-2, self.cols, above)


class _Kept:
    """The factors of one call, for its derivatives."""

    def __init__(self) -> None:
        self.held: Optional[List[Held]] = None


def _in_front(x: Tensor, dim: Optional[int], batches: int, own: int) -> Tensor:
    """With the dimension of vmap in front of ``batches`` others, before ``own`` ones of one matrix."""
    if dim is None:
        return x
    x = x.movedim(dim, 0)
    missing = batches - (x.dim() - 1 - own)
    return x.reshape(x.shape[0], *[1] * missing, *x.shape[1:])


class _Pack(Function):
    @staticmethod
    def forward(values: Tensor, at: _Indices) -> Tensor:
        packed = at.layout.pack(_host(values))
        return _tensor(packed.copy() if at.layout.same else packed)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.at = inputs[1]

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        return ctx.at.pull(g), None

    @staticmethod
    def jvp(ctx: Any, t: Tensor, _: Any) -> Tensor:
        return ctx.at.push(t)

    @staticmethod
    def vmap(info: Any, in_dims: Any, values: Tensor, at: _Indices) -> Any:
        return _Pack.apply(values.movedim(in_dims[0], 0), at), 0


class _Pair(Function):
    """:meth:`Layout.pair` of g and x."""

    @staticmethod
    def forward(g: Tensor, x: Tensor, at: _Indices) -> Tensor:
        return _tensor(at.layout.pair(_host(g), _host(x)))

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        g, x, ctx.at = inputs
        ctx.save_for_backward(g, x)
        ctx.save_for_forward(g, x)

    @staticmethod
    def backward(ctx: Any, c: Tensor) -> Any:
        g, x = ctx.saved_tensors
        turned = c if ctx.at.hermitian else c.conj()
        return (ctx.at.product(c, x).sum_to_size(g.shape),
                ctx.at.product(turned, g).sum_to_size(x.shape), None)  # fmt: skip

    @staticmethod
    def jvp(ctx: Any, dg: Optional[Tensor], dx: Optional[Tensor], _: Any) -> Tensor:
        g, x = ctx.saved_tensors
        parts = [] if dg is None else [_Pair.apply(dg, x, ctx.at)]
        parts += [] if dx is None else [_Pair.apply(g, dx, ctx.at)]
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, g: Tensor, x: Tensor, at: _Indices) -> Any:
        batches = max(g.dim() - 2 - (in_dims[0] is not None), x.dim() - 2 - (in_dims[1] is not None))
        return _Pair.apply(_in_front(g, in_dims[0], batches, 2), _in_front(x, in_dims[1], batches, 2), at), 0


def _hermitian_solve(l: Tensor, b: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Tensor:
    """With Aᴴ."""
    if at.hermitian or not l.is_complex():
        return _Solve.apply(l, b, at, factors, kept)
    return _Solve.apply(l, b.conj(), at, factors, kept).conj()


class _Solve(Function):
    """x (..., n, k) of l (..., size) and b (..., n, k)."""

    @staticmethod
    def forward(l: Tensor, b: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Tensor:
        x, kept.held = factors.solve(_host(l), _host(b), kept.held)
        return _tensor(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        l, b, ctx.at, ctx.factors, ctx.kept = inputs
        ctx.b_shape = b.shape
        ctx.save_for_backward(l, output)
        ctx.save_for_forward(l, output)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        l, x = ctx.saved_tensors
        if ctx.needs_input_grad[0]:
            ctx.factors.check(ctx.kept.held or [])
        gb = _hermitian_solve(l, g, ctx.at, ctx.factors, ctx.kept)
        gl = -_Pair.apply(gb, x, ctx.at).sum_to_size(l.shape) if ctx.needs_input_grad[0] else None
        return gl, gb.sum_to_size(ctx.b_shape), None, None, None

    @staticmethod
    def jvp(ctx: Any, dl: Optional[Tensor], db: Optional[Tensor], *_: Any) -> Tensor:
        l, x = ctx.saved_tensors
        side = db
        if dl is not None:
            ctx.factors.check(ctx.kept.held or [])
            change = ctx.at.product(dl, x)
            side = -change if side is None else side - change
        assert side is not None
        return _Solve.apply(l, side, ctx.at, ctx.factors, ctx.kept)

    @staticmethod
    def vmap(info: Any, in_dims: Any, l: Tensor, b: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Any:
        batches = max(l.dim() - 1 - (in_dims[0] is not None), b.dim() - 2 - (in_dims[1] is not None))
        l = _in_front(l, in_dims[0], batches, 1)
        b = _in_front(b, in_dims[1], batches, 2)
        return _Solve.apply(l, b, at, factors, kept), 0


class _SlogDet(Function):
    @staticmethod
    def forward(l: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Any:
        sign, log, kept.held = factors.slogdet(_host(l), kept.held)
        return _tensor(sign), _tensor(log)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        l, ctx.at, ctx.factors, ctx.kept = inputs
        if not l.is_complex() or ctx.at.hermitian:
            ctx.mark_non_differentiable(output[0])
        ctx.save_for_backward(l, output[0])
        ctx.save_for_forward(l, output[0])

    @staticmethod
    def backward(ctx: Any, g_sign: Any, g_log: Any) -> Any:
        l, sign = ctx.saved_tensors
        at = ctx.at
        z = _Selected.apply(l, at, ctx.factors, ctx.kept)
        weight = g_log
        if l.is_complex() and not at.hermitian:  # d sign = i sign Im tr(A⁻¹ dA)
            z = z.conj()
            weight = torch.complex(g_log, -(sign * g_sign.conj()).imag)
        return at.real(at.twice, l) * z * weight[..., None], None, None, None

    @staticmethod
    def jvp(ctx: Any, dl: Tensor, *_: Any) -> Any:
        l, sign = ctx.saved_tensors
        at = ctx.at
        z = _Selected.apply(l, at, ctx.factors, ctx.kept)
        trace = (at.real(at.twice, l) * (z.conj() if at.hermitian else z) * dl).sum(-1)
        if not l.is_complex() or at.hermitian:
            return None, trace.real if l.is_complex() else trace
        return 1j * sign * trace.imag, trace.real

    @staticmethod
    def vmap(info: Any, in_dims: Any, l: Tensor, *rest: Any) -> Any:
        return _SlogDet.apply(l.movedim(in_dims[0], 0), *rest), (0, 0)


class _Selected(Function):
    """The entries of A⁻¹ in the places of l."""

    @staticmethod
    def forward(l: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Tensor:
        z, kept.held = factors.selected(_host(l), kept.held)
        return _tensor(z)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        l, *ctx.rest = inputs
        ctx.save_for_backward(l)
        ctx.save_for_forward(l)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Any:
        (l,) = ctx.saved_tensors
        at = ctx.rest[0]
        turned = l.is_complex() and not at.hermitian
        twice = at.real(at.twice, g)
        found = _sandwich(l, at.clean(g.conj() if turned else g) / twice, *ctx.rest)
        return -twice * (found.conj() if turned else found), None, None, None

    @staticmethod
    def jvp(ctx: Any, dl: Tensor, *_: Any) -> Tensor:
        (l,) = ctx.saved_tensors
        return -_sandwich(l, dl, *ctx.rest)

    @staticmethod
    def vmap(info: Any, in_dims: Any, l: Tensor, *rest: Any) -> Any:
        return _Selected.apply(l.movedim(in_dims[0], 0), *rest), 0


def _sandwich(l: Tensor, e: Tensor, at: _Indices, factors: Factors, kept: _Kept) -> Tensor:
    """The entries of A⁻¹ E A⁻¹ in the places of l, E as l has it: by solves with all unit vectors."""
    n, parts = at.layout.n, []
    for first in range(0, n, _BLOCK):
        unit = torch.zeros((n, min(_BLOCK, n - first)), dtype=l.dtype)
        unit[first : first + unit.shape[1]] = torch.eye(unit.shape[1], dtype=l.dtype)
        w = _Solve.apply(l, unit, at, factors, kept)
        v = _Solve.apply(l, at.product(e, w), at, factors, kept)
        start, end = at.layout.indptr[[first, first + unit.shape[1]]]
        parts.append(v[..., at.rows[start:end], at.cols[start:end] - first])
    return torch.cat(parts, -1) if parts else torch.zeros_like(e)


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

    The pattern is analysed with the first values, for each type once.  Any thread may use it.

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
        self._at = _Indices(self._layout)
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
        values = _working(values, "the values")
        value_count(values.shape, self.nnz)
        if self._layout.same and not (self._layout.hermitian and values.is_complex()):
            return values
        return _Pack.apply(values, self._at)

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
        values, b = _working(values, "the values"), _working(b, "the right-hand side")
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
        return _Solve.apply(packed, side, self._at, self._factors, _Kept())

    def slogdet(self, values: Tensor) -> Tuple[Tensor, Tensor]:
        """(sign, log|det A|), each of shape (...) for values (..., nnz): (0, -inf) of a singular matrix.

        The gradient takes the entries of A⁻¹ on A's pattern: one to two and a half factorizations.  A
        gradient of this gradient takes all of A⁻¹, by 2 n solves.  SingularMatrixError in backward: A
        is singular."""
        sign, log = _SlogDet.apply(self._pack(values), self._at, self._factors, _Kept())
        return sign, log

    def logdet(self, values: Tensor) -> Tensor:
        """log|det A|, of shape (...): the second of :meth:`slogdet`."""
        return self.slogdet(values)[1]

    def __repr__(self) -> str:
        return f"<Solver of a {self.shape[0]} x {self.shape[0]} pattern of {self.nnz} values>"


def _pattern(A: Any) -> Tuple[Any, Any, int]:
    """Rows and columns in the order of the values, and n."""
    if not isinstance(A, Tensor):
        return places_of(A)
    _there(A, "the matrix")
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
    ptr, minor = (A.crow_indices(), A.col_indices()) if by_rows else (A.ccol_indices(), A.row_indices())
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
