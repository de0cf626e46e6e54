# SPDX-License-Identifier: BSD-3-Clause
"""What pymetapack.torch is made of: functions that PyTorch can differentiate, of l and b (_adjoint.py)."""

from __future__ import annotations

from typing import Any, List, Optional, Tuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad

from ._adjoint import Layout
from ._errors import UnsupportedError
from ._factors import Factors, Kind

_functorch: Any = getattr(torch._C, "_functorch", None)  # PyTorch's own part: it may go

_TYPES = (torch.float32, torch.float64, torch.complex64, torch.complex128)
_BLOCK = 64  # columns at once of what takes all of A⁻¹


def _host(x: Tensor) -> Any:
    """As NumPy has it."""
    return x.detach().resolve_conj().resolve_neg().numpy()


def _tensor(x: Any) -> Tensor:
    return torch.from_numpy(np.asarray(x, order="C"))


def forward_once() -> None:
    """Of a Function PyTorch takes the derivative in forward mode once: a second one would be 0."""
    levels: Any = getattr(_functorch, "get_interpreter_stack", list)() or []
    if sum(level.key() == _functorch.TransformType.Jvp for level in levels) > 1:
        raise UnsupportedError("forward mode within forward mode (jacfwd of jacfwd, jvp of jvp): PyTorch has no "
                               "such derivatives of a solve; take torch.func.hessian, or jacrev for one of the "
                               "two", "unsupported", "solve")  # fmt: skip


def there(x: Tensor, what: str) -> None:
    if x.device.type != "cpu":
        raise TypeError(f"{what} lies on {x.device}: derivatives are computed on the processor; give "
                        f"x.cpu(), or solve without derivatives by pymetapack.ldl")  # fmt: skip


def working(x: Tensor, what: str) -> Tensor:
    if not isinstance(x, Tensor):
        raise TypeError(f"{what}: a tensor is wanted, not {type(x).__name__}")
    there(x, what)
    if x.layout != torch.strided:
        raise TypeError(f"{what} has layout {x.layout}; a dense tensor is wanted")
    if x.dtype in _TYPES:
        return x
    if not x.is_floating_point():
        return x.to(torch.float64)
    raise TypeError(f"{what} has dtype {x.dtype}: float32, float64, complex64 and complex128 are solved "
                    "(integers as float64)")  # fmt: skip


class Indices:
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


class Kept:
    """The factors of one call, for its derivatives."""

    def __init__(self) -> None:
        self.held: Optional[List[Kind]] = None


def _in_front(arrays: Tuple[Tensor, ...], dims: Any, own: Tuple[int, ...]) -> List[Tensor]:
    """With the dimensions of vmap in front of all others of a batch; so many are those of one matrix."""
    batches = max(x.dim() - k - (d is not None) for x, d, k in zip(arrays, dims, own))
    moved = []
    for x, dim, k in zip(arrays, dims, own):
        if dim is not None:
            x = x.movedim(dim, 0)
            x = x.reshape(x.shape[0], *[1] * (batches - (x.dim() - 1 - k)), *x.shape[1:])
        moved.append(x)
    return moved


_transforms = getattr(torch._C, "_are_functorch_transforms_active", lambda: True)


def _bare(function: Any, *tensors: Tensor) -> Any:
    """Its forward, where nothing is differentiated: 0.1 ms less than apply() takes."""
    if torch.is_grad_enabled() or _transforms():
        return None
    if any(forward_ad.unpack_dual(x).tangent is not None for x in tensors):
        return None
    return function.forward


class Pack(Function):
    @staticmethod
    def forward(values: Tensor, at: Indices) -> Tensor:
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
    def vmap(info: Any, in_dims: Any, values: Tensor, at: Indices) -> Any:
        return Pack.apply(values.movedim(in_dims[0], 0), at), 0


class Pair(Function):
    """:meth:`Layout.pair` of g and x."""

    @staticmethod
    def forward(g: Tensor, x: Tensor, at: Indices) -> Tensor:
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
        parts = [] if dg is None else [Pair.apply(dg, x, ctx.at)]
        parts += [] if dx is None else [Pair.apply(g, dx, ctx.at)]
        return sum(parts[1:], parts[0])

    @staticmethod
    def vmap(info: Any, in_dims: Any, g: Tensor, x: Tensor, at: Indices) -> Any:
        return Pair.apply(*_in_front((g, x), in_dims, (2, 2)), at), 0


def _hermitian_solve(l: Tensor, b: Tensor, at: Indices, factors: Factors, kept: Kept) -> Tensor:
    """With Aᴴ."""
    solve = _bare(Solve, l, b) or Solve.apply
    if at.hermitian or not l.is_complex():
        return solve(l, b, at, factors, kept)
    return solve(l, b.conj(), at, factors, kept).conj()


class Solve(Function):
    """x (..., n, k) of l (..., size) and b (..., n, k)."""

    @staticmethod
    def forward(l: Tensor, b: Tensor, at: Indices, factors: Factors, kept: Kept) -> Tensor:
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
        gl = None
        if ctx.needs_input_grad[0]:
            pair = _bare(Pair, gb, x) or Pair.apply
            gl = -pair(gb, x, ctx.at).sum_to_size(l.shape)
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
        return Solve.apply(l, side, ctx.at, ctx.factors, ctx.kept)

    @staticmethod
    def vmap(
        info: Any, in_dims: Any, l: Tensor, b: Tensor, at: Indices, factors: Factors, kept: Kept
    ) -> Any:
        l, b = _in_front((l, b), in_dims, (1, 2))
        return Solve.apply(l, b, at, factors, kept), 0


class SlogDet(Function):
    @staticmethod
    def forward(l: Tensor, at: Indices, factors: Factors, kept: Kept) -> Any:
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
        z = Selected.apply(l, at, ctx.factors, ctx.kept)
        weight = g_log
        if l.is_complex() and not at.hermitian:  # d sign = i sign Im tr(A⁻¹ dA)
            z = z.conj()
            weight = torch.complex(g_log, -(sign * g_sign.conj()).imag)
        return at.real(at.twice, l) * z * weight[..., None], None, None, None

    @staticmethod
    def jvp(ctx: Any, dl: Tensor, *_: Any) -> Any:
        l, sign = ctx.saved_tensors
        at = ctx.at
        z = Selected.apply(l, at, ctx.factors, ctx.kept)
        trace = (at.real(at.twice, l) * (z.conj() if at.hermitian else z) * dl).sum(-1)
        if not l.is_complex() or at.hermitian:
            return None, trace.real if l.is_complex() else trace
        return 1j * sign * trace.imag, trace.real

    @staticmethod
    def vmap(info: Any, in_dims: Any, l: Tensor, *rest: Any) -> Any:
        return SlogDet.apply(l.movedim(in_dims[0], 0), *rest), (0, 0)


class Selected(Function):
    """The entries of A⁻¹ in the places of l."""

    @staticmethod
    def forward(l: Tensor, at: Indices, factors: Factors, kept: Kept) -> Tensor:
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
        return Selected.apply(l.movedim(in_dims[0], 0), *rest), 0


def _sandwich(l: Tensor, e: Tensor, at: Indices, factors: Factors, kept: Kept) -> Tensor:
    """The entries of A⁻¹ E A⁻¹ in the places of l, E as l has it: by solves with all unit vectors."""
    n, parts = at.layout.n, []
    for first in range(0, n, _BLOCK):
        unit = torch.zeros((n, min(_BLOCK, n - first)), dtype=l.dtype)
        unit[first : first + unit.shape[1]] = torch.eye(unit.shape[1], dtype=l.dtype)
        w = Solve.apply(l, unit, at, factors, kept)
        v = Solve.apply(l, at.product(e, w), at, factors, kept)
        start, end = at.layout.indptr[[first, first + unit.shape[1]]]
        parts.append(v[..., at.rows[start:end], at.cols[start:end] - first])
    return torch.cat(parts, -1) if parts else torch.zeros_like(e)
