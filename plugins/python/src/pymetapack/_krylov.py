# SPDX-License-Identifier: BSD-3-Clause
"""Krylov methods under SciPy's signatures, for matrices, operators and preconditioners of any make."""

from __future__ import annotations

from typing import Any, Callable, Optional, Union

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from ._check import check_order, check_sparse
from ._context import Context
from ._factor import Factor
from ._lib import ffi, lib
from ._matrix import (
    SCALARS, destroy_problem, host_array, pointer, refuse_device, take, working_dtype,
)  # fmt: skip
from ._types import Array, DType, MatrixLike, VectorLike
from ._vectors import as_given

__all__ = ["KrylovInfo", "bicgstab", "cg", "fgmres", "gmres", "idr", "minres", "sqmr", "symmlq"]

#: Is told the relative residual after each iteration.
Callback = Callable[[float], object]
#: What is multiplied by: a matrix, an operator of SciPy's or a function; as M a factor, too.
Operator = Union[MatrixLike, LinearOperator, Factor, Callable[[Array], Array]]

_DEFINITE = ("minres", "symmlq", "cg")  # ask for a definite preconditioner
_GENERAL = ("gmres", "fgmres", "bicgstab", "idr")  # need no symmetry


class KrylovInfo(int):
    """SciPy's ``info`` (0: converged; else the number of iterations that did not suffice), and

    Attributes
    ----------
    iterations : int
    products : int
        With A.
    applications : int
        Of M.
    residual : float
        True ||b - A x|| / ||b|| of the x given back.
    recurred : float
        What the method's recurrence took it for.
    history : ndarray
        The recurred one after each iteration.
    message : str
        Why it stopped; empty where it converged.
    """

    iterations: int
    products: int
    applications: int
    residual: float
    recurred: float
    history: Array
    message: str


def _failed(kind: Any, error: BaseException, trace: Any) -> None:
    """What a callback raised, Ctrl-C included, ends the solve and is raised again there."""
    ffi.from_handle(trace.tb_frame.f_locals["self"]).run.error = error


@ffi.callback("mpk_apply_fn", error=lib.MPK_ERR_CANCELLED, onerror=_failed)  # type: ignore[untyped-decorator]
def _apply(self: Any, x: Any, y: Any) -> int:
    call = ffi.from_handle(self)
    x = np.frombuffer(ffi.buffer(x, call.run.bytes), call.run.dtype)
    x.flags.writeable = False
    call.function(x, np.frombuffer(ffi.buffer(y, call.run.bytes), call.run.dtype))
    return 0


@ffi.callback("mpk_monitor_fn", error=1, onerror=_failed)  # type: ignore[untyped-decorator]
def _monitor(self: Any, iteration: int, residual: float) -> int:
    ffi.from_handle(self).function(residual)
    return 0


class _Run:
    """Holds the exception of a callback, which ended the solve."""

    def __init__(self, n: int, dtype: DType) -> None:
        self.dtype = dtype
        self.bytes = n * dtype.itemsize
        self.error: Optional[BaseException] = None

    def handle(self, function: Callable[..., Any]) -> Any:
        """What the library hands to the callbacks above as ``self``."""
        return ffi.new_handle(_Call(self, function))


class _Call:
    def __init__(self, run: _Run, function: Callable[..., Any]) -> None:
        self.run = run
        self.function = function


def _linear(op: Any, what: str, n: int, dtype: DType) -> Callable[[Array, Array], None]:
    """multiply(x, y) of whatever SciPy takes as a linear operator, or of a callable."""
    if callable(op) and not hasattr(op, "shape"):
        act = op
    else:
        if sp.issparse(op):
            check_sparse(op, what)
        op = aslinearoperator(op)
        act = op.matvec
        if tuple(op.shape) != (n, n):
            raise ValueError(f"{what} is {op.shape[0]} x {op.shape[1]}, the system {n} x {n}")
    if np.dtype(getattr(op, "dtype", None) or dtype).kind == "c" and dtype.kind != "c":
        raise TypeError(f"{what} is complex and the system real: give b as complex128")

    def multiply(x: Array, y: Array) -> None:
        result = np.asarray(act(x)).reshape(n)
        if result.dtype.kind == "c" and y.dtype.kind != "c":
            if np.any(result.imag):
                raise TypeError(f"{what} gives complex vectors, and the system is real: give b as "
                                "complex128")  # fmt: skip
            result = result.real
        y[:] = result

    return multiply


def _preconditioner(M: Any, absolute: bool, n: int, dtype: DType) -> Callable[[Array, Array], None]:
    if not isinstance(M, Factor):
        refuse_device(M, "M")
        return _linear(M, "M", n, dtype)
    if M.shape != (n, n) or M.dtype != dtype:
        raise ValueError(f"M is a {M.dtype} factor of shape {M.shape}, the system {dtype} {(n, n)}")
    part = lib.MPK_PART_ABS if absolute else lib.MPK_PART_ALL
    factor = M

    def multiply(x: Array, y: Array) -> None:
        y[:] = x
        factor._apply(y, part)

    return multiply


def _solve(method: str, A: Any, b: VectorLike, x0: Optional[VectorLike], M: Optional[Operator],
           rtol: float, maxiter: Optional[int], callback: Optional[Callback],
           lower: Optional[bool], hermitian: bool, restart: int = 50, shadow: int = 4,
           seed: int = 1) -> tuple[Array, KrylovInfo]:  # fmt: skip
    refuse_device(A, "the matrix")
    given, b = b, host_array(b, "the right-hand side")
    if callable(A) and not hasattr(A, "shape"):  # a function
        A = LinearOperator((b.shape[0] if b.ndim else 0,) * 2, matvec=A,
                           dtype=working_dtype(b.dtype, "the right-hand side"))  # fmt: skip
    matrix = sp.issparse(A) or not hasattr(A, "matvec")
    if matrix and not sp.issparse(A):
        A = host_array(A, "the matrix")
    dtype = working_dtype(b.dtype, "the right-hand side")
    if getattr(A, "dtype", None) is not None:
        dtype = np.promote_types(dtype, working_dtype(A.dtype, "the matrix"))
    n = int(A.shape[0])
    if len(A.shape) != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the matrix is {' x '.join(map(str, A.shape))}, not square")
    check_order(n)
    if b.shape not in ((n,), (n, 1)):
        raise ValueError(f"b has shape {b.shape}, and must have ({n},) or ({n}, 1)")
    context = Context()
    run = _Run(n, dtype)
    problem = None
    product: Callable[[Array, Array], None]
    try:
        if matrix and (method not in _GENERAL or lower is not None):
            m = take(A, lower, hermitian, dtype)
            problem = m.problem(context)
            hermitian = m.hermitian

            def multiply(x: Array, y: Array) -> None:
                status = lib.mpk_problem_multiply(inner.pointer, problem[0], 1, pointer(x), n,
                                                  pointer(y), n)  # fmt: skip
                inner.check(status)

            inner = Context()  # the other one is at work
            product = multiply
        else:
            product = _linear(A, "A", n, dtype)
        keep: list[Any] = [run.handle(product)]
        task = ffi.new("mpk_krylov_task *")
        lib.mpk_krylov_task_init(task)
        task.method = getattr(lib, f"MPK_KRYLOV_{method.upper()}")
        task.scalar = SCALARS[dtype]
        task.symmetry = int(bool(hermitian) and dtype.kind == "c")
        task.n = n
        task.a.apply, task.a.self = _apply, keep[0]
        if M is not None:
            keep.append(run.handle(_preconditioner(M, method in _DEFINITE, n, dtype)))
            task.m.apply, task.m.self = _apply, keep[1]
        task.tolerance = float(rtol)
        task.max_iterations = 10 * n if maxiter is None else int(maxiter)
        task.restart, task.shadow, task.seed = int(restart), int(shadow), int(seed)
        if callback is not None:
            keep.append(run.handle(callback))
            task.monitor, task.user = _monitor, keep[-1]
        history = np.empty(min(task.max_iterations, 100_000), np.float64)
        task.history, task.history_size = ffi.from_buffer("double[]", history), len(history)
        rhs = np.ascontiguousarray(b.reshape(n), dtype=dtype)
        x = np.zeros(n, dtype)
        if x0 is not None:
            x[:] = host_array(x0, "x0").reshape(n)
        info = ffi.new("mpk_krylov_info *")
        status = context.call(lib.mpk_krylov_solve, task, pointer(rhs), pointer(x), info)
        if run.error is not None:
            raise run.error
        context.check(status)
        message = context.message()[2] if status else ""
    finally:
        if problem is not None:
            destroy_problem(problem)
    result = KrylovInfo(0 if status == 0 else max(1, int(info.iterations)))
    result.iterations = int(info.iterations)
    result.products = int(info.products)
    result.applications = int(info.applications)
    result.residual = float(info.residual)
    result.recurred = float(info.recurred)
    result.history = history[: int(info.history_count)].copy()
    result.message = message
    return as_given(given, x.reshape(b.shape)), result


_PARAMETERS = """

    Parameters
    ----------
    A : sparse matrix, 2-D array, LinearOperator, or what ``aslinearoperator`` takes, (n, n)
        {symmetry}
    b : array of shape (n,) or (n, 1)
    x0 : array of n entries, optional
        First guess; zero.
    M : Factor, LinearOperator, matrix or callable, optional
        M⁻¹, applied to vectors of (n,).  {preconditioner}
    rtol : float
        Of the true relative residual ||b - A x|| / ||b||, 2-norms.
    maxiter : int, optional
        Default 10 n.
    callback : callable, optional
        ``callback(residual)`` after each iteration, with the relative residual that the method
        recurs.  What it raises ends the solve and reaches the caller.
    lower, hermitian : as for :func:`ldl`
        Of a complex operator: products are x^H y if ``hermitian``, else x^T y.

    Returns
    -------
    x : ndarray of b's shape, of the common dtype
    info : KrylovInfo
        An int: 0, or the iterations that did not suffice; x is then the best iterate seen.
    """
_SYMMETRIC = "Symmetric or Hermitian, checked where it is a matrix."
_ANY = "Need not be symmetric, unless ``lower`` says which triangle counts."
_SYMMETRIC_M = "Symmetric; may be indefinite: an incomplete factor of :func:`ildl`, say."
_DEFINITE_M = "Definite: of a Factor |D| is taken, as ``aspreconditioner(abs=True)`` does."
_ANY_M = "Any."


def _document(symmetry: str, preconditioner: str) -> Callable[[Any], Any]:
    def add(function: Any) -> Any:
        more = _PARAMETERS.replace("{symmetry}", symmetry)
        more = more.replace("{preconditioner}", preconditioner)
        head, _, examples = (function.__doc__ or "").partition("\n\n")
        function.__doc__ = head + more + ("\n" + examples if examples else "")
        return function

    return add


@_document(_SYMMETRIC, _SYMMETRIC_M)
def sqmr(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
         M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
         callback: Optional[Callback] = None, lower: Optional[bool] = None,
         hermitian: bool = False) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """Simplified quasi-minimal residuals (Freund and Nachtigal 1994): A symmetric, M symmetric and indefinite.

    >>> import numpy as np, pymetapack
    >>> K = pymetapack.generate("helmholtz 2d 30 0.3")
    >>> b = np.ones(K.shape[0])
    >>> x, info = pymetapack.sqmr(K, b, M=pymetapack.ildl(K), rtol=1e-9)
    >>> int(info), bool(info.residual <= 1e-9)
    (0, True)
    """
    return _solve("sqmr", A, b, x0, M, rtol, maxiter, callback, lower, hermitian)


@_document(_SYMMETRIC, _DEFINITE_M)
def minres(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
           M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
           callback: Optional[Callback] = None, lower: Optional[bool] = None,
           hermitian: bool = False) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """Minimal residuals (Paige and Saunders 1975): A symmetric, M definite.

    >>> import numpy as np, pymetapack
    >>> K = pymetapack.generate("helmholtz 2d 30 0.3")
    >>> x, info = pymetapack.minres(K, np.ones(K.shape[0]), M=pymetapack.ildl(K), rtol=1e-6)
    >>> int(info)
    0
    """
    return _solve("minres", A, b, x0, M, rtol, maxiter, callback, lower, hermitian)


@_document(_SYMMETRIC, _DEFINITE_M)
def symmlq(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
           M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
           callback: Optional[Callback] = None, lower: Optional[bool] = None,
           hermitian: bool = False) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """SYMMLQ (Paige and Saunders 1975): A symmetric, M definite."""
    return _solve("symmlq", A, b, x0, M, rtol, maxiter, callback, lower, hermitian)


@_document(_SYMMETRIC, _DEFINITE_M)
def cg(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
       M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
       callback: Optional[Callback] = None, lower: Optional[bool] = None,
       hermitian: bool = False) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """Conjugate gradients (Hestenes and Stiefel 1952): A and M definite."""
    return _solve("cg", A, b, x0, M, rtol, maxiter, callback, lower, hermitian)


@_document(_ANY, _ANY_M)
def gmres(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
          M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
          callback: Optional[Callback] = None, lower: Optional[bool] = None,
          hermitian: bool = False, restart: int = 50) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """GMRES(m) (Saad and Schultz 1986), restarted after ``restart`` steps: any A, any M."""
    return _solve("gmres", A, b, x0, M, rtol, maxiter, callback, lower, hermitian, restart=restart)


@_document(_ANY, _ANY_M)
def fgmres(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
           M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
           callback: Optional[Callback] = None, lower: Optional[bool] = None,
           hermitian: bool = False, restart: int = 50) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """Flexible GMRES(m) (Saad 1993): M may change from step to step."""
    return _solve("fgmres", A, b, x0, M, rtol, maxiter, callback, lower, hermitian, restart=restart)


@_document(_ANY, _ANY_M)
def bicgstab(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
             M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
             callback: Optional[Callback] = None, lower: Optional[bool] = None,
             hermitian: bool = False) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """BiCGStab (van der Vorst 1992): any A, any M."""
    return _solve("bicgstab", A, b, x0, M, rtol, maxiter, callback, lower, hermitian)


@_document(_ANY, _ANY_M)
def idr(A: Operator, b: VectorLike, x0: Optional[VectorLike] = None, *,
        M: Optional[Operator] = None, rtol: float = 1e-8, maxiter: Optional[int] = None,
        callback: Optional[Callback] = None, lower: Optional[bool] = None,
        hermitian: bool = False, shadow: int = 4, seed: int = 1) -> tuple[Array, KrylovInfo]:  # fmt: skip
    """IDR(s) (Sonneveld and van Gijzen 2008) with ``shadow`` = s: any A, any M."""
    return _solve(
        "idr", A, b, x0, M, rtol, maxiter, callback, lower, hermitian, shadow=shadow, seed=seed
    )
