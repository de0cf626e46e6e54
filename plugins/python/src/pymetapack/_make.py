# SPDX-License-Identifier: BSD-3-Clause
"""ldl, ildl, ldu, factorized, spsolve: from a matrix to a factor, or to a solution."""

from __future__ import annotations

import warnings
from typing import Any, Callable, Dict, Optional, Sequence, Union

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ._again import solve_again
from ._context import Context, Progress
from ._device import Link, deliver, is_sparse_tensor, lies_there, maker_of, number_of
from ._errors import InputError, ZeroPivotWarning
from ._factor import LONG_NNZ, Factor
from ._lib import ffi, lib
from ._matrix import Matrix, destroy_problem, host_array, pointer, take, to_host, working_dtype
from ._options import Options
from ._saved import Path, Tree, of_path, of_tree
from ._types import Array, MatrixLike, OptionValue, VectorLike
from ._vectors import as_given, solve_columns
from ._verdict import judge, tell_apart

__all__ = ["factorized", "ildl", "ldl", "ldu", "load", "spsolve"]


def _placed(A: Any, device: Any, options: Dict[str, OptionValue]) -> Dict[str, OptionValue]:
    """The options with the place: what the caller says, else where A lies."""
    given = dict(options)
    if device is not None:
        given["device"] = str(device)
    elif lies_there(A):
        given["device"] = "auto"
    number = number_of(A)
    if number is not None and given.get("device") in ("cuda", "auto"):
        given.setdefault("device_number", number)
    return given


def ldl(A: MatrixLike, *, lower: Optional[bool] = None, hermitian: bool = False,
        singular: str = "warn", device: Optional[str] = None, progress: Optional[Progress] = None,
        analysis: Optional[Path] = None, tree: Union[Tree, Sequence[ArrayLike], None] = None,
        **options: OptionValue) -> Factor:  # fmt: skip
    """Factorize a symmetric indefinite matrix: P S A S Pᵀ = L D Lᵀ with threshold pivoting.

    Parameters
    ----------
    A : sparse matrix or array of any format, or 2-D array, of shape (n, n)
        float32, float64, complex64 or complex128; integers become float64.  Explicit zeros belong
        to the pattern, duplicates are summed.  SciPy's and NumPy's, or on a GPU: those of
        cupyx.scipy.sparse and CuPy, PyTorch's tensors (sparse_csr, sparse_csc, sparse_coo), and
        what has ``__cuda_array_interface__`` or DLPack.
    lower : bool, optional
        True, False: the lower, the upper triangle counts, the other one is not looked at.
        None: both are given, and are checked to agree.
    hermitian : bool
        Complex matrices: A = Aᴴ (True) or A = Aᵀ.
    singular : {"warn", "raise", "ignore"}
        What becomes of zero pivots: ZeroPivotWarning, SingularMatrixError, nothing.
    device : {"cpu", "cuda", "cuda:1", "auto"}, or a torch.device
        Where to factorize and to solve: on the processor, on a GPU (DeviceError where there is
        none, UnsupportedError where the method has no engine there), or where it is quicker.
        Default: "auto" on its GPU for an A on a GPU, else "cpu".  ``engine`` of the factor says
        where it is; right-hand sides may lie on a GPU in either case.
    progress : callable, optional
        ``progress(stage, fraction)`` is called about 20 times a second, in another thread; a true
        result ends the call with CancelledError, an exception goes through to the caller.
    analysis : path, optional
        A file by ``save_analysis`` or ``save`` of a factor of this pattern: nothing is ordered
        anew, and the options of the analysis are those of the file.
    tree : Tree or (perm, first, parent), optional
        The order and the supernodes to use, as ``tree`` of a factor has them; ArgumentError where
        they do not fit the pattern.
    **options
        Options of the library by their keys: ``ordering="metis"``, ``pivot_threshold=0.1``,
        ``threads=1``, ``matching="on"``, ``static_shift=1e-10`` ... (:func:`options`).

    Returns
    -------
    Factor

    Raises
    ------
    InputError (NaN, not symmetric), SingularMatrixError, MemoryLimitError, NumericError,
    UnsupportedError, ArgumentError, TypeError, ValueError

    Examples
    --------
    >>> import numpy as np, pymetapack
    >>> from scipy.sparse import csc_matrix
    >>> A = csc_matrix([[4.0, 1, 2], [1, 0, 0], [2, 0, -3]])
    >>> F = pymetapack.ldl(A)
    >>> F.inertia
    Inertia(positive=1, negative=2, zero=0)
    >>> F.solve([7.0, 1, -1]).round(12)
    array([1., 1., 1.])
    >>> F.refactor(2 * A).solve([14.0, 2, -2]).round(12)
    array([1., 1., 1.])
    """
    options = _placed(A, device, options)
    options.setdefault("method", "ldlt")
    if analysis is not None and tree is not None:
        raise ValueError("an analysis has a tree: give one of both")
    source = (None if analysis is None else of_path(analysis)) if tree is None else of_tree(tree)
    return Factor(A, lower, hermitian, singular, progress, options, source=source)


def load(path: Path, A: MatrixLike, *, lower: Optional[bool] = None, hermitian: bool = False,
         singular: str = "warn", progress: Optional[Progress] = None,
         **options: OptionValue) -> Factor:  # fmt: skip
    """The factor in a file by :meth:`Factor.save`: it solves as the one that was saved.

    Parameters
    ----------
    path : path
        Any file: what is damaged, made up, of another version or of another pattern is refused.
    A : matrix of the pattern that was factorized, given in the same way
        Its values are not looked at: the file has those that were factorized.  ``refactor`` takes
        others.
    lower, hermitian, singular, progress, **options
        As for :func:`ldl`; the options count for solves, and for ``refactor``: give those of the
        factor that was saved, or ``refactor`` takes the defaults.

    Returns
    -------
    Factor, on the processor

    Raises
    ------
    OSError, FormatError (not such a file, or damaged), UnsupportedError (another version or
    machine), ArgumentError (another pattern)
    """
    options.setdefault("method", "ldlt")
    source = of_path(path, factor=True)
    return Factor(A, lower, hermitian, singular, progress, dict(options), source=source)


def ildl(A: MatrixLike, *, lower: Optional[bool] = None, hermitian: bool = False,
         singular: str = "warn", device: Optional[str] = None, progress: Optional[Progress] = None,
         analysis: Optional[Path] = None, **options: OptionValue) -> Factor:  # fmt: skip
    """Factorize incompletely: a preconditioner for matrices whose factor would not fit.

    Parameters are those of :func:`ldl`.  ``method`` is "ildlt" (blocks, level of fill and
    thresholds; the default), "jacobi" (the same by fixed-point sweeps), "ilu0" (no fill, for
    comparison), "diagonal", "block_jacobi", "ssor" (parts of A; ``omega=1``) or "none";
    ``drop_tolerance=1e-4``, ``fill_factor=4``, ``level=1``, ``block=32`` and
    others guide it (docs/design/meta-algorithm.md).

    ``solve`` of the result runs a preconditioned Krylov method, ``krylov="sqmr"`` unless you say
    otherwise, until it is accurate to rounding, or to the relative residual ``tolerance`` if you give
    one, with at most ``max_iterations`` (1000).  ``aspreconditioner``
    gives M⁻¹ for another one.

    >>> import numpy as np, pymetapack
    >>> K = pymetapack.generate("helmholtz 2d 30 0.3")
    >>> P = pymetapack.ildl(K, drop_tolerance=1e-3, level=2)
    >>> b = np.ones(K.shape[0])
    >>> x = P.solve(b, tolerance=1e-9)
    >>> bool(np.linalg.norm(K @ x - b) <= 1e-8 * np.linalg.norm(b))
    True
    """
    options = _placed(A, device, options)
    options.setdefault("method", "ildlt")
    source = None if analysis is None else of_path(analysis)
    return Factor(A, lower, hermitian, singular, progress, options, source=source)


def ldu(A: MatrixLike, *, singular: str = "warn", device: Optional[str] = None,
        progress: Optional[Progress] = None, **options: OptionValue) -> Factor:  # fmt: skip
    """Factorize a matrix that need not be symmetric: P R Q A C Pᵀ = L D U on blocks.

    Rows are permuted (Q) to bring large entries to the diagonal.  The factorization is complete
    unless one of ``level``, ``drop_tolerance`` and ``fill_factor`` is given: then it is incomplete,
    with the defaults of :func:`ildl` for the others.  ``method="ilu0"`` is one without fill.

    ``solve`` of the result runs GMRES (``krylov="fgmres"``, ``"bicgstab"`` or ``"idr"`` if you say
    so) until it is accurate to rounding, or to ``tolerance``: one or two iterations with a complete
    factor.  The other parameters are those of :func:`ldl`; there is no inertia.

    >>> import numpy as np, pymetapack
    >>> A = np.array([[0.0, 3, 0], [2, 0, 2], [-1, 0, 4]])
    >>> pymetapack.ldu(A).solve(A @ [1.0, 2, 3]).round(12)
    array([1., 2., 3.])
    """
    options = _as_ldu(_placed(A, device, options))
    return Factor(A, None, False, singular, progress, options, general=True)


def _as_ldu(options: Dict[str, OptionValue]) -> Dict[str, OptionValue]:
    """With the defaults of :func:`ldu`."""
    full = dict(options)
    if full.setdefault("method", "ildlt") in ("ildlt", "jacobi"):
        full.setdefault("factor_type", "ldu")
    if full["method"] == "ildlt" and not full.keys() & {"level", "drop_tolerance", "fill_factor"}:
        full.update(level=-1, drop_tolerance=0.0, fill_factor=0.0)
    return full


def lu(A: MatrixLike, *, singular: str = "warn", progress: Optional[Progress] = None,
       **options: OptionValue) -> Factor:  # fmt: skip
    """Factorize a matrix that need not be symmetric, directly: P R Q A C Pᵀ = L U.

    Rows are permuted (Q) to bring large entries to the diagonal where it is weak; pivots are chosen
    among the rows of a front, each at least ``pivot_threshold`` times the largest entry of its
    column.  ``solve(b)`` is refined until it is accurate to rounding, ``solve(b, trans="T")`` and
    ``trans="H"`` solve with Aᵀ and Aᴴ; ``logdet`` and ``slogdet`` are there, an inertia is not.  On
    the processor alone.  The other parameters are those of :func:`ldl`.

    >>> import numpy as np, pymetapack
    >>> A = np.array([[0.0, 3, 0], [2, 0, 2], [-1, 0, 4]])
    >>> F = pymetapack.lu(A)
    >>> F.solve(A @ [1.0, 2, 3]).round(12), F.solve(A.T @ [1.0, 2, 3], trans="T").round(12)
    (array([1., 2., 3.]), array([1., 2., 3.]))
    >>> bool(np.isclose(F.slogdet.sign * np.exp(F.logdet), np.linalg.det(A)))
    True
    """
    options = dict(options)
    options.setdefault("method", "ldlt")
    return Factor(A, None, False, singular, progress, options, general=True)


def factorized(A: MatrixLike, *, lower: Optional[bool] = None, hermitian: bool = False,
               singular: str = "warn", device: Optional[str] = None, progress: Optional[Progress] = None,
               **options: OptionValue) -> Callable[..., Array]:  # fmt: skip
    """A function that solves A x = b: ``ldl(A, **options).solve``, under SciPy's name.

    >>> import numpy as np, pymetapack
    >>> solve = pymetapack.factorized(np.array([[0.0, 1], [1, 0]]))
    >>> solve([3.0, 4.0])
    array([4., 3.])
    """
    options = _placed(A, device, options)
    options.setdefault("method", "ldlt")
    return Factor(A, lower, hermitian, singular, progress, options).solve


def spsolve(A: MatrixLike, b: VectorLike, *, lower: Optional[bool] = None, hermitian: bool = False,
            general: Optional[bool] = None, device: Optional[str] = None,
            progress: Optional[Progress] = None, **options: OptionValue) -> Array:  # fmt: skip
    """Solve A x = b once: analyse, factorize, solve, refine, check.

    A is taken for what it is, as the command ``metapack solve`` does: symmetric, Hermitian, or
    neither.

    Where the direct solver fits, it is used; where not, incomplete factorizations of growing
    strength under SQMR (``direct=False`` never takes the direct one).  ``method="ldlt"``,
    ``"ildlt"``, ... fixes the method.

    A small symmetric matrix (CSC or CSR, at most 20 000 entries, no options) with the pattern of the
    thread's last call is not analysed again.

    Parameters
    ----------
    A, lower, hermitian, device, progress, **options
        As for :func:`ldl`; ``lower`` and ``hermitian`` say that A is symmetric.
    general : bool, optional
        True: A need not be symmetric: L U, or L D U of growing strength under GMRES where that does
        not fit; ``method``, if given, as for :func:`ldu`, "ldlt" as for :func:`lu`.
        False: A must be symmetric.  None: as with True where A is neither symmetric nor Hermitian.
    b : array or sparse matrix of shape (n,) or (n, k)

    Returns
    -------
    x : ndarray of b's shape, of the common dtype of A and b; of a b on a GPU: of b's kind, there

    Raises
    ------
    SingularMatrixError
        A is singular and b not in its range; the exception has the best ``solution``.

    Warns
    -----
    ZeroPivotWarning (singular, but x solves the system), InaccurateWarning, NotConvergedWarning

    >>> import numpy as np, pymetapack
    >>> from scipy.sparse import csc_matrix
    >>> A = csc_matrix([[4.0, 1, 2], [1, 0, 0], [2, 0, -3]])
    >>> pymetapack.spsolve(A, np.array([7.0, 1, -1])).round(12)
    array([1., 1., 1.])
    """
    options = _placed(A, device, options)
    link, home = Link(Context()), None
    if lies_there(b):
        home, b = b, link.fetch(maker_of(b), b, "the right-hand side")
    given_b = b
    b = host_array(b, "the right-hand side")
    a: Any = A
    if lies_there(A):
        a = to_host(A, link, general is not False)[0]
    elif not sp.issparse(A) and not is_sparse_tensor(A):
        a = host_array(A, "the matrix")
    given = take(a, None, False, None, True).dtype if is_sparse_tensor(a) else a.dtype
    dtype = working_dtype(given, "the matrix")
    side = working_dtype(
        b.dtype, "the right-hand side"
    )  # its precision counts, not its being complex
    dtype = np.promote_types(
        dtype, np.float64 if side.name in ("float64", "complex128") else np.float32
    )
    kinds = [(hermitian, bool(general))]
    if general is None and lower is None and not hermitian:
        kinds += [(True, False)] if dtype.kind == "c" else []
        kinds += [(False, True)]
    for h, g in kinds:
        try:
            if str(options.get("method", "auto")) != "auto":
                chosen = _as_ldu(options) if g else options
                factor = Factor(a, lower, h, "warn", progress, chosen, dtype, general=g)
                x = factor.solve(b)
            else:
                plain = not g and not options and progress is None and b.shape[:1] == a.shape[:1]
                known = solve_again(a, b, lower, h, dtype) if plain else None
                x = known if known is not None else _adaptive(take(a, lower, h, dtype, g), b, progress, options)
            break
        except InputError as error:
            law = "the matrix is not" in str(error) or "a Hermitian matrix has" in str(error)
            if (h, g) == kinds[-1] or not law:
                raise
    return as_given(given_b, x) if home is None else deliver(home, None, link, x)


def _adaptive(m: Matrix, b: Array, progress: Optional[Progress],
              options: Dict[str, OptionValue]) -> Array:  # fmt: skip
    context = Context()
    chosen = Options(context, options)
    chosen.check_order(m.n)
    problem = m.problem(context)
    asymmetry = ffi.new("mpk_asymmetry *")
    lib.mpk_problem_asymmetry_get(problem[0], asymmetry)
    tell_apart(asymmetry, 4)
    result = ffi.new("mpk_adaptive *")
    status = 0

    def solve(b: Array, x: Array) -> None:
        nonlocal status
        nrhs = 1 if b.ndim == 1 else b.shape[1]
        status = context.call(
            lib.mpk_solve_adaptive, problem[0], chosen.pointer, nrhs, pointer(b.T), m.n,
            pointer(x.T), m.n, ffi.NULL, 0, ffi.NULL, result,
            long=len(m.indices) * nrhs > LONG_NNZ or chosen.pointer.direct == lib.MPK_OFF,
            progress=progress,
        )  # fmt: skip
        context.check(status)

    try:
        x = solve_columns(b, m.n, m.dtype, None, solve)
        message = context.message()[2] if status else ""
        singular = status == lib.MPK_SINGULAR
        zero = 0
        if singular and result.factor != ffi.NULL:
            info = ffi.new("mpk_factor_info *")
            lib.mpk_factor_info_get(result.factor, info)
            zero = int(info.inertia.zero)
        if status:
            judge(status, ffi.addressof(result, "solve"), x, "accuracy" in options, message, 4)  # fmt: skip
    finally:
        lib.mpk_adaptive_clear(result)
        destroy_problem(problem)
    if singular:
        warnings.warn(f"the matrix is singular ({zero} zero pivots of {m.n}); the system was "
                      "consistent", ZeroPivotWarning, stacklevel=3)  # fmt: skip
    return x
