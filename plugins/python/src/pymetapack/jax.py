# SPDX-License-Identifier: BSD-3-Clause
"""JAX: A⁻¹ b and log|det A| of sparse symmetric and Hermitian matrices, with derivatives of any order.

>>> import jax, jax.numpy as jnp, numpy as np, scipy.sparse as sp, pymetapack.jax  # doctest: +SKIP
>>> solver = pymetapack.jax.Solver(sp.csc_matrix(np.array([[2.0, 0], [1, -1]])), lower=True)
>>> loss = jax.jit(lambda values, b: solver.solve(values, b).sum() + solver.logdet(values))
>>> jax.grad(loss)(jnp.array([2.0, 1, -1]), jnp.array([3.0, 1]))

A :class:`Solver` is made of a pattern once, and its methods take values, under ``jit``, ``vmap``,
``grad``, ``jvp`` and what is made of these.  :func:`solve`, :func:`logdet` and :func:`slogdet` take a
matrix of ``jax.experimental.sparse`` whose indices are known.  The library is called back from the
program on the processor.  docs/guide/gradients.md has the conventions.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Dict, Optional, Tuple, Union

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.experimental.sparse import BCOO, BCSR
from jax.typing import ArrayLike

from ._adjoint import (
    Last, Layout, columns, compressed_places, places_of, square, value_count,
)  # fmt: skip
from ._factors import Factors, again
from ._types import OptionValue, SparseMatrix

__all__ = ["Solver", "logdet", "slogdet", "solve"]

_TYPES = ("float32", "float64", "complex64", "complex128")
_BLOCK = 64  # columns at once of what takes all of A⁻¹


def _working(x: ArrayLike, what: str) -> Array:
    array = jnp.asarray(x)
    if array.dtype.name in _TYPES:
        return array
    if array.dtype.kind in "iub":
        return array.astype(jnp.result_type(float))
    raise TypeError(f"{what} has dtype {array.dtype}: float32, float64, complex64 and complex128 are solved "
                    "(integers as floats)")  # fmt: skip


def _called(function: Any, result: Any, *args: Array) -> Any:
    """Of NumPy arrays, which may have batch dimensions in front: 1 where an argument has none."""

    def host(*given: Any) -> Any:
        return function(*map(np.asarray, given))

    return jax.pure_callback(host, result, *args, vmap_method="expand_dims")


class _Indices:
    """Those of a layout, and what of it is linear."""

    def __init__(self, layout: Layout, factors: Factors) -> None:
        self.layout, self.factors = layout, factors
        self.rows, self.cols = layout.rows.astype(np.int32), layout.cols.astype(np.int32)
        self.counts = np.flatnonzero(layout.slot >= 0).astype(np.int32)
        self.slot = layout.slot[self.counts].astype(np.int32)
        self.twice = np.where(layout.diagonal, 1.0, 2.0)

    def hermitian(self, x: Array) -> bool:
        return self.layout.hermitian and jnp.iscomplexobj(x)

    def push(self, tangent: Array) -> Array:
        """dl of d values."""
        part = tangent * self.layout.weight.astype(tangent.real.dtype)
        hermitian = self.hermitian(tangent)
        if hermitian:
            part = jnp.where(self.layout.mirrored, part.conj(), part)
        l = jnp.zeros(self.layout.size, part.dtype).at[self.slot].add(part[self.counts])
        return jnp.where(self.layout.diagonal, l.real, l) if hermitian else l

    def product(self, l: Array, x: Array) -> Array:
        """A x of l (size,) and x (n, k)."""
        above = jnp.where(self.layout.diagonal, 0, l.conj() if self.hermitian(l) else l)
        y = jnp.zeros_like(x).at[self.rows].add(l[:, None] * x[self.cols])
        return y.at[self.cols].add(above[:, None] * x[self.rows])


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _pack(at: _Indices, regular: bool, values: Array) -> Array:
    """l of values (nnz,), checked; regular: a singular matrix is an error."""
    if at.layout.same and not at.hermitian(values) and not regular:
        return values

    def pack(values: Any) -> Any:
        l = at.layout.pack(values)
        if regular:
            at.factors.regular(l)
        return l

    return _called(pack, jax.ShapeDtypeStruct((at.layout.size,), values.dtype), values)


@_pack.defjvp
def _pack_jvp(at: _Indices, regular: bool, primals: Any, tangents: Any) -> Any:
    return _pack(at, True, primals[0]), at.push(tangents[0])


def _solve(at: _Indices, l: Array, b: Array) -> Array:
    """x (n, k) of l (size,) and b (n, k)."""

    def by_factor(_: Any, b: Array) -> Array:
        return _called(
            lambda l, b: at.factors.solve(l, b)[0], jax.ShapeDtypeStruct(b.shape, b.dtype), l, b
        )

    def transposed(_: Any, b: Array) -> Array:
        return by_factor(None, b.conj()).conj()

    if at.hermitian(l):
        return jax.lax.custom_linear_solve(partial(at.product, l), b, by_factor, transposed)
    return jax.lax.custom_linear_solve(partial(at.product, l), b, by_factor, symmetric=True)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _slogdet(at: _Indices, l: Array) -> Tuple[Array, Array]:
    kinds = (jax.ShapeDtypeStruct((), l.dtype), jax.ShapeDtypeStruct((), l.real.dtype))
    return _called(lambda l: at.factors.slogdet(l)[:2], kinds, l)


@_slogdet.defjvp
def _slogdet_jvp(at: _Indices, primals: Any, tangents: Any) -> Any:
    (l,), (dl,) = primals, tangents
    sign, log = _slogdet(at, l)
    z = _selected(at, l)
    z = z.conj() if at.hermitian(l) else z
    trace = (at.twice.astype(l.real.dtype) * z * dl).sum()  # of A⁻¹ dA; Hermitian: its real part
    if jnp.iscomplexobj(l) and not at.hermitian(l):
        return (sign, log), (1j * sign * trace.imag, trace.real)
    return (sign, log), (jnp.zeros_like(sign), trace.real)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _selected(at: _Indices, l: Array) -> Array:
    """The entries of A⁻¹ in the places of l."""
    return _called(lambda l: at.factors.selected(l)[0], jax.ShapeDtypeStruct(l.shape, l.dtype), l)


@_selected.defjvp
def _selected_jvp(at: _Indices, primals: Any, tangents: Any) -> Any:
    """- A⁻¹ dA A⁻¹ there, by solves with all unit vectors, some at a time."""
    (l,), (dl,) = primals, tangents
    n = at.layout.n
    width = max(1, min(_BLOCK, n))

    def add(block: Array, found: Array) -> Array:
        unit = jnp.zeros((n, width), l.dtype)
        column = first_of(block) + jnp.arange(width)
        unit = unit.at[column, jnp.arange(width)].set(1, mode="drop")
        v = _solve(at, l, at.product(dl, _solve(at, l, unit)))
        mine = (at.cols >= column[0]) & (at.cols < column[0] + width)
        return jnp.where(mine, v[at.rows, jnp.where(mine, at.cols - column[0], 0)], found)

    def first_of(block: Array) -> Array:
        return block * width

    found, _ = jax.lax.scan(lambda found, block: (add(block, found), None), jnp.zeros_like(l),
                            jnp.arange(-(-n // width)))  # fmt: skip
    return _selected(at, l), -found


def _over_batch(function: Any, arrays: Tuple[Array, ...], own: Tuple[int, ...]) -> Any:
    """``function`` of the last dimensions, so many of each array."""
    parts = [(x.shape[: x.ndim - k], x.shape[x.ndim - k :]) for x, k in zip(arrays, own)]
    batch = jnp.broadcast_shapes(*(shape for shape, _ in parts))
    flat, axes = [], []
    for x, (shape, rest) in zip(arrays, parts):
        one = int(np.prod(shape)) == 1
        flat.append(
            x.reshape(rest) if one else jnp.broadcast_to(x, (*batch, *rest)).reshape(-1, *rest)
        )
        axes.append(None if one else 0)
    if axes != [None] * len(axes):
        function = jax.vmap(function, axes)
    return jax.tree.map(lambda x: x.reshape(*batch, *(x.shape if axes == [None] * len(axes) else x.shape[1:])),
                        function(*flat))  # fmt: skip


class Solver:
    """A⁻¹ b and log|det A| for all matrices of one pattern, with derivatives in their values.

    Parameters
    ----------
    A : BCOO or BCSR matrix, or SciPy's sparse matrix, of shape (n, n)
        Its pattern counts, explicit zeros too: values are in the order of ``A.data``; those of one
        place are summed.
    lower : bool, optional
        True, False: the lower, the upper triangle counts; an entry of it stands for its mirror image,
        too, and its derivative is that of both.  Entries of the other triangle have the derivative 0.
        None: both triangles are there; a matrix is the mean of the two, which are checked to agree,
        and the gradient is symmetric (of a Hermitian A, as JAX has it: the conjugate is Hermitian).
    hermitian : bool
        Complex values: A = Aᴴ (True) or A = Aᵀ.
    singular : {"warn", "raise", "ignore"}
        What becomes of zero pivots, as with :func:`pymetapack.ldl`.
    keep : int
        So many of the last factors are kept, or as many as the largest batch had: a backward pass
        finds that of its forward pass there, and makes it anew where it is gone.
    **options
        Options of the library: ``ordering="metis"``, ``refine=0``, ``threads=1``, ...

    The pattern is analysed with the first values, for each type once.  Any thread may use it.  A copy, or
    what is pickled, has the pattern and the options.
    """

    def __init__(self, A: Union[BCOO, BCSR, SparseMatrix], *, lower: Optional[bool] = None,
                 hermitian: bool = False, singular: str = "warn", keep: int = 4,
                 **options: OptionValue) -> None:  # fmt: skip
        rows, cols, n = _pattern(A)
        tolerance = options.get("symmetry_tolerance", -1.0)
        self._layout = Layout(n, rows, cols, lower, hermitian, tolerance)
        self._factors = Factors(self._layout, singular, keep, options)
        self._at = _Indices(self._layout, self._factors)
        self.shape = (n, n)

    @property
    def nnz(self) -> int:
        """How many values there are."""
        return self._layout.nnz

    @property
    def factorizations(self) -> int:
        """So many were made."""
        return self._factors.count

    def solve(self, values: ArrayLike, b: ArrayLike) -> Array:
        """Solve A x = b.

        Parameters
        ----------
        values : array of shape (..., nnz)
            float32, float64, complex64 or complex128 (the double ones with ``jax_enable_x64``).
        b : array of shape (n,), (..., n) or (..., n, k)
            One vector, one for each of the matrices, or columns; (..., n) is taken only if it is the
            values' batch.  Batch dimensions are broadcast.

        Returns
        -------
        x : array of shape (n,), (..., n) or (..., n, k), of the common type

        Raises
        ------
        PatternError, TypeError, ValueError
            Shapes and types that do not fit.
        jax.errors.JaxRuntimeError
            When the program runs; its text has pymetapack's exception: SingularMatrixError (b is not
            in the range of A, or derivatives in the values of a singular A are asked for), InputError
            (NaN, infinity, triangles that differ).

        Warns
        -----
        ZeroPivotWarning, InaccurateWarning, SymmetryWarning, as :func:`pymetapack.ldl` and its solve
        """
        values, b = _working(values, "the values"), _working(b, "the right-hand side")
        value_count(values.shape, self.nnz)
        if b.ndim == 0:
            raise ValueError("the right-hand side is a number; (n,) or (..., n, k) is wanted")
        many = columns(b.ndim, b.shape, values.shape, self.shape[0])
        dtype = jnp.promote_types(values.dtype, b.dtype)
        real = not jnp.iscomplexobj(values)
        values = values.astype(jnp.finfo(dtype).dtype if real else dtype)
        b = b.astype(dtype) if many else b.astype(dtype)[..., None]
        if real and jnp.iscomplexobj(b):  # two real right-hand sides
            x = self._apply(values, jnp.concatenate([b.real, b.imag], -1))
            x = jax.lax.complex(x[..., : b.shape[-1]], x[..., b.shape[-1] :])
        else:
            x = self._apply(values, b)
        return x if many else x[..., 0]

    def _apply(self, values: Array, b: Array) -> Array:
        at = self._at
        packed = _over_batch(partial(_pack, at, False), (values,), (1,))
        return _over_batch(partial(_solve, at), (packed, b), (1, 2))

    def slogdet(self, values: ArrayLike) -> Tuple[Array, Array]:
        """(sign, log|det A|), each of shape (...) for values (..., nnz): (0, -inf) of a singular matrix.

        The derivative takes the entries of A⁻¹ on A's pattern: one to two and a half factorizations.
        The second one takes all of A⁻¹, by 2 n solves.  Singular matrices have no derivative: an
        exception as of :meth:`solve`."""
        values = _working(values, "the values")
        value_count(values.shape, self.nnz)

        def one(values: Array) -> Any:
            return _slogdet(self._at, _pack(self._at, False, values))

        sign, log = _over_batch(one, (values,), (1,))
        return sign, log

    def logdet(self, values: ArrayLike) -> Array:
        """log|det A|, of shape (...): the second of :meth:`slogdet`."""
        return self.slogdet(values)[1]

    def __reduce__(self) -> Any:
        return again, (Solver, *self._factors.recipe())

    def __repr__(self) -> str:
        return f"<Solver of a {self.shape[0]} x {self.shape[0]} pattern of {self.nnz} values>"


def _pattern(A: Any) -> Tuple[Any, Any, int]:
    """Rows and columns in the order of the values, and n."""
    if not isinstance(A, (BCOO, BCSR)):
        return places_of(A)
    if A.n_batch or A.n_dense:
        raise ValueError("the matrix has batch or dense dimensions: make a Solver of one pattern, and give "
                         "it values of shape (..., nnz)")  # fmt: skip
    n = square(tuple(A.shape))
    if isinstance(A.indices, jax.core.Tracer):
        raise TypeError("the pattern is not known while the function is traced: make a Solver of it outside, "
                        "and call its solve(A.data, b)")  # fmt: skip
    if isinstance(A, BCSR):
        return (*compressed_places(np.asarray(A.indptr), np.asarray(A.indices), True), n)
    rows, cols = np.asarray(A.indices).T
    return rows, cols, n


_last = Last()


def _of(A: Union[BCOO, BCSR], options: Dict[str, Any]) -> Solver:
    """A solver for its pattern."""
    if not isinstance(A, (BCOO, BCSR)):
        raise TypeError(f"a matrix of jax.experimental.sparse is wanted, not {type(A).__name__}")
    rows, cols, n = _pattern(A)
    return _last.of(n, rows, cols, options, Solver)


def solve(A: Union[BCOO, BCSR], b: ArrayLike, *, lower: Optional[bool] = None, hermitian: bool = False,
          singular: str = "warn", **options: OptionValue) -> Array:  # fmt: skip
    """Solve A x = b with a BCOO or BCSR matrix of shape (n, n); the other parameters, errors and warnings
    are those of :class:`Solver` and its ``solve``.

    A call with the pattern of the thread's last one takes its analysis, and with the same values its
    factor.  TypeError: A's indices are traced; make a Solver outside of the traced function."""
    solver = _of(A, dict(options, lower=lower, hermitian=hermitian, singular=singular))
    return solver.solve(A.data, b)


def slogdet(A: Union[BCOO, BCSR], *, lower: Optional[bool] = None, hermitian: bool = False,
            singular: str = "warn", **options: OptionValue) -> Tuple[Array, Array]:  # fmt: skip
    """(sign, log|det A|) of a BCOO or BCSR matrix: :meth:`Solver.slogdet`, otherwise as :func:`solve`."""
    solver = _of(A, dict(options, lower=lower, hermitian=hermitian, singular=singular))
    return solver.slogdet(A.data)


def logdet(A: Union[BCOO, BCSR], *, lower: Optional[bool] = None, hermitian: bool = False,
           singular: str = "warn", **options: OptionValue) -> Array:  # fmt: skip
    """log|det A| of a BCOO or BCSR matrix: :meth:`Solver.logdet`, otherwise as :func:`solve`."""
    return slogdet(A, lower=lower, hermitian=hermitian, singular=singular, **options)[1]
