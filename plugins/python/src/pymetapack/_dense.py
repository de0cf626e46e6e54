# SPDX-License-Identifier: BSD-3-Clause
"""One dense symmetric indefinite matrix: factorization, solution, inertia."""

from __future__ import annotations

import warnings
from typing import Any, Callable, NoReturn, Optional

import numpy as np

from ._check import check_order
from ._context import Context
from ._device import Link, Memory, deliver, gpu_of, lies_there, maker_of
from ._errors import SingularMatrixError, ZeroPivotWarning
from ._factor import Certificate, Inertia, certificate_of
from ._lib import ffi, lib, text
from ._matrix import SCALARS, host_array, pointer, working_dtype
from ._options import as_dict
from ._types import Array, DType, MatrixLike, VectorLike
from ._vectors import as_given, solve_columns
from ._verdict import judge, measure, solves, tell_apart

__all__ = ["DenseFactor", "ldl_dense", "solve_dense"]

_METHODS = ("auto", "tile", "bunch-kaufman", "rook", "aasen", "butterfly", "none")
_PRECISIONS = ("working", "single", "tf32", "half")
_REFINEMENTS = ("auto", "classic", "gmres")
_NUMBERS = ("pivot_threshold", "zero_tolerance", "tile", "depth", "seed", "refine", "accuracy",
            "threads")  # fmt: skip
_LONG = 600_000_000  # from so many operations on Ctrl-C must be heard, by another thread


def _choice(name: str, value: str, words: tuple[str, ...]) -> int:
    if value not in words:
        raise ValueError(f"{name} must be one of {', '.join(words)}, not {value!r}")
    return words.index(value)


def _room(bytes_: int) -> tuple[Any, Any]:
    """Memory aligned to 64 bytes: the array that owns it, and its address (NULL for none)."""
    if bytes_ == 0:
        return None, ffi.NULL
    store = np.empty(bytes_ + 64, np.uint8)
    start = -store.__array_interface__["data"][0] % 64
    return store, pointer(store[start : start + bytes_])


def _here(x: Any, link: Link, what: str) -> Array:
    """A NumPy array with the values of x, wherever it lies."""
    return link.fetch(maker_of(x), x, what) if lies_there(x) else host_array(x, what)


class _Dense:
    """A matrix by columns, the description of the call, and room for the factors."""

    def __init__(self, A: MatrixLike, lower: Optional[bool], hermitian: bool, method: str,
                 precision: str, refinement: str, condition: bool, options: dict[str, float],
                 dtype: Optional[DType] = None, device: Optional[str] = None) -> None:  # fmt: skip
        self.number = gpu_of(device, A)
        self.context = Context()
        self.link = Link(self.context, self.number)
        a = _here(A, self.link, "the matrix")
        if a.ndim != 2 or a.shape[0] != a.shape[1]:
            raise ValueError(f"the matrix has shape {a.shape}, and is not square")
        check_order(a.shape[0])
        self.dtype = working_dtype(a.dtype if dtype is None else dtype, "the matrix")
        self.hermitian = bool(hermitian) and self.dtype.kind == "c"
        options = dict(options)
        tolerance = float(options.pop("symmetry_tolerance", -1))
        if not tolerance <= 1:
            raise ValueError(f"symmetry_tolerance = {tolerance}: from 0 to 1, below 0: the default")
        self.a = np.array(a, dtype=self.dtype, order="F", copy=True)
        self.n, self.nrhs = len(a), 1
        self.given: Optional[Array] = None  # the matrix as it was, where its triangles differ
        self.asymmetry = ffi.new("mpk_asymmetry *")
        if lower is None:
            self._to_mean(a, tolerance)
        d = self.dense = ffi.new("mpk_dense *")
        lib.mpk_dense_init(d)
        d.scalar, d.symmetry, d.n = SCALARS[self.dtype], int(self.hermitian), self.n
        d.uplo = lib.MPK_UPPER if lower is not None and not lower else lib.MPK_LOWER
        d.method = _choice("method", method, _METHODS)
        d.precision = _choice("precision", precision, _PRECISIONS)
        d.refinement = _choice("refinement", refinement, _REFINEMENTS)
        d.condition = lib.MPK_ON if condition else lib.MPK_OFF
        for name, value in options.items():
            if name not in _NUMBERS:
                raise TypeError(f"there is no option {name!r}: {', '.join(_NUMBERS)}")
            setattr(d, name, value)
        if self.number is not None:
            d.memory, d.device = lib.MPK_DEVICE, self.number
        self.info = ffi.new("mpk_dense_info *")
        self._there: Optional[Memory] = None

    @property
    def matrix(self) -> Any:
        """The matrix by columns, where the factors are."""
        if self.number is None:
            return pointer(self.a.T)
        if self._there is None:
            self._there = Memory(self.context, self.number, self.a.nbytes).put(self.a)
        return self._there.address

    def run(self, function: Any, b: Array, x: Array) -> int:
        """mpk_dense_solve or mpk_dense_sysv for columns b and x of the host."""
        nrhs = 1 if b.ndim == 1 else b.shape[1]
        rest = (ffi.NULL, 0, self.info)
        if self.number is None:
            return self.call(function, self.dense, self.matrix, self.ld, self.factor, nrhs,
                             pointer(b.T), self.ld, pointer(x.T), self.ld, *rest)  # fmt: skip
        side = Memory(self.context, self.number, b.nbytes).put(b)
        result = Memory(self.context, self.number, x.nbytes)
        status = self.call(function, self.dense, self.matrix, self.ld, self.factor, nrhs,
                           side.address, self.ld, result.address, self.ld, *rest)  # fmt: skip
        result.fetch(x)
        return status

    def _to_mean(self, a: Array, tolerance: float) -> None:
        """Both triangles -> their mean, if the library takes them for those of one matrix."""
        call = self.context.call
        self.context.check(call(lib.mpk_context_set_symmetry_tolerance, tolerance))
        status = call(lib.mpk_symmetrize, self.n, SCALARS[self.dtype], int(self.hermitian),
                      pointer(self.a.T), max(1, self.n), self.asymmetry)  # fmt: skip
        self.context.check(status, " (lower=True or lower=False: use one triangle only)")
        if self.asymmetry.pairs:
            self.given = np.array(a, dtype=self.dtype, order="F", copy=True)

    def correct(self, b: Array, x: Array, apply: Callable[[Array], Array]) -> None:
        """Refine x in the matrix that was given, ``apply`` being its mean's inverse, and measure it
        there."""
        if self.given is None:
            return
        b, x = b.reshape(self.n, -1), x.reshape(self.n, -1)
        aim = self.dense.accuracy if self.dense.accuracy >= 0 else (
            max(4.0, self.n**0.5) * float(np.finfo(self.dtype).eps))  # fmt: skip
        error, rows, r = measure(self.given, b, x)
        for _ in range(self.dense.refine):
            if not error > aim or not np.isfinite(error):
                break
            better = x + apply(np.asfortranarray(r)).reshape(x.shape)
            now = measure(self.given, b, better)
            if not now[0] < error:
                break
            x[...] = better
            slow = now[0] > 0.5 * error
            error, rows, r = now
            if slow:
                break
        self.info.componentwise = error
        self.info.solved = self.info.solved and solves(self.dtype, error, rows)
        self.missed = error > aim

    def doubt(self) -> str:
        """Zero pivots are such beside the largest entry: small rows are not singular for that."""
        upper = self.dense.uplo == lib.MPK_UPPER
        half = np.abs(np.triu(self.a) if upper else np.tril(self.a))
        rows = np.maximum(half.max(axis=0, initial=0), half.max(axis=1, initial=0))
        if not rows.size or rows.min() >= 1e-3 * rows.max():
            return ""
        return ("pivots are zero beside the largest entry, and x does not solve the system: "
                "singular and inconsistent, or badly scaled (scale the rows, or zero_tolerance=0)"
                )  # fmt: skip

    def corrected(self, status: int, b: Array, x: Array,
                  once: Callable[[Array, Array], int]) -> int:  # fmt: skip
        """The status of x after :meth:`correct`; ``once`` solves with the mean."""
        if self.given is None:
            return status

        def apply(r: Array) -> Array:
            d = np.empty(r.shape, self.dtype, order="F")
            kept = int(self.info.solved)
            once(r, d)
            self.info.solved = kept
            return d

        self.correct(b, x, apply)
        if status == lib.MPK_OK or status == lib.MPK_INACCURATE:
            return int(lib.MPK_INACCURATE if self.missed else lib.MPK_OK)
        return status

    def reserve(self, nrhs: int) -> None:
        """Room for the factors, as the library counts it."""
        self.nrhs = nrhs
        sizes = ffi.new("mpk_dense_sizes *")
        self.call(lib.mpk_dense_query, self.dense, nrhs, sizes)
        f = self.factor = ffi.new("mpk_dense_factor *")
        f.struct_size = ffi.sizeof("mpk_dense_factor")
        f.ldf = max(1, self.n)
        if self.number is not None:
            sizes_of = (sizes.factor_bytes, sizes.extra_bytes, 4 * max(1, sizes.pivots))
            store, extra, pivots = self._room_there = [
                Memory(self.context, self.number, int(k)) for k in sizes_of
            ]
            f.f, f.extra = store.address, extra.address
            f.pivots = ffi.cast("int32_t *", pivots.address)
            self._pivots = np.zeros(max(1, int(sizes.pivots)), np.int32)
            return
        self._store, f.f = _room(int(sizes.factor_bytes))
        self._pivots = np.zeros(max(1, int(sizes.pivots)), np.int32)
        f.pivots = ffi.cast("int32_t *", pointer(self._pivots))
        self._extra, f.extra = _room(int(sizes.extra_bytes))

    @property
    def pivots(self) -> Array:
        """Those of the factors, on the host."""
        return self._pivots if self.number is None else self._room_there[2].fetch(self._pivots)

    def stored(self, dtype: DType) -> Array:
        """The factors as they lie, n x n by columns; a copy."""
        if self.number is not None:
            return self._room_there[0].fetch(np.empty((self.n, self.n), dtype)).T
        raw = np.frombuffer(ffi.buffer(self.factor.f, self.n * self.n * dtype.itemsize), dtype)
        return raw.reshape(self.n, self.n).T.copy(order="F")

    def call(self, function: Any, *args: Any) -> int:
        """A call whose failure is an exception."""
        long = self.n * self.n * max(self.n / 3, 8 * self.nrhs) >= _LONG
        return int(self.context.check(self.context.call(function, *args, long=long)))

    @property
    def ld(self) -> int:
        return max(1, self.n)


class DenseFactor:
    """Factors of a dense matrix, made by :func:`ldl_dense`.

    Attributes
    ----------
    status : str
        "ok" or "singular".
    method, precision : str
        What was used.
    inertia : Inertia
        (0, 0, zero pivots) of complex symmetric matrices.
    """

    def __init__(self, parts: _Dense) -> None:
        self._parts = parts
        parts.reserve(1)
        status = parts.call(
            lib.mpk_dense_factorize, parts.dense, parts.matrix, parts.ld, parts.factor,
            ffi.NULL, 0, parts.info,
        )  # fmt: skip
        self.status = text(lib.mpk_status_name(status))
        self.shape, self.dtype, self.hermitian = parts.a.shape, parts.dtype, parts.hermitian
        self.method = text(lib.mpk_dense_method_name(parts.factor.method))
        self.precision = text(lib.mpk_dense_precision_name(parts.factor.precision))
        self._made = as_dict(parts.info[0])

    @property
    def inertia(self) -> Inertia:
        found = ffi.new("mpk_inertia *")
        p = self._parts
        p.call(lib.mpk_dense_inertia, p.dense, p.factor, ffi.NULL, 0, found)
        inertia = Inertia(int(found.positive), int(found.negative), int(found.zero))
        inertia._ask = lambda: self.certificate
        return inertia

    @property
    def certificate(self) -> Certificate:
        """Is :attr:`inertia` that of the matrix?  It is examined when this is read: at most 16 products
        and as many solves.  Never of factors by "aasen"."""
        found, p = ffi.new("mpk_certificate *"), self._parts
        p.call(lib.mpk_dense_certify, p.dense, p.matrix, p.ld, p.factor, ffi.NULL, 0, found)
        return certificate_of(found)

    @property
    def certified(self) -> bool:
        """Is :attr:`inertia` that of the matrix?  See :attr:`certificate`."""
        return self.certificate.certified

    @property
    def nneg(self) -> int:
        """Number of negative eigenvalues."""
        return self.inertia.negative

    @property
    def rank(self) -> int:
        """n less the number of zero pivots."""
        return int(self.shape[0]) - int(self._made["zero_pivots"])

    @property
    def factors(self) -> Array:
        """A copy of L and D as the library stores them, (n, n); include/metapack/dense.h."""
        p = self._parts
        dtype = p.dtype
        if self.precision != "working":
            dtype = np.dtype(np.complex64 if p.dtype.kind == "c" else np.float32)
        if p.n == 0:
            return np.empty((0, 0), dtype)
        return p.stored(dtype)

    @property
    def pivots(self) -> Array:
        """A copy of the pivots, in the method's own notation; include/metapack/dense.h."""
        found: Array = self._parts.pivots[: self._parts.n].copy()
        return found

    def solve(self, b: VectorLike, out: Optional[Array] = None) -> Array:
        """Solve A x = b, with refinement.

        b : array of shape (n,) or (n, k), on the host or on a GPU      out : as for Factor.solve
        Returns x of b's shape, where b lies; (n, k) in Fortran order.
        Raises SingularMatrixError (inconsistent); warns InaccurateWarning.
        """
        p, status = self._parts, 0

        home = b if lies_there(b) else None
        given = out if home is None else None
        side_given = b
        b = _here(b, p.link, "the right-hand side")

        def once(b: Array, x: Array) -> int:
            return p.run(lib.mpk_dense_solve, b, x)

        def solve(b: Array, x: Array) -> None:
            nonlocal status
            side = b.copy(order="F") if p.given is not None else b
            status = once(b, x)
            status = p.corrected(status, side, x, once)

        with p.context.lock:
            x = solve_columns(b, p.n, p.dtype, given, solve)
            if self.status == "singular":
                status = int(lib.MPK_SINGULAR)
            if status:
                doubt = p.doubt() if status == lib.MPK_SINGULAR else ""
                judge(status, p.info, x, p.dense.accuracy >= 0, "", 3, doubt)
            if home is not None:
                found: Array = deliver(home, out, p.link, x)
                return found
            return x if out is not None else as_given(side_given, x)

    __call__ = solve

    def stats(self) -> dict[str, Any]:
        """Numbers of the factorization and the last solve: the fields of mpk_dense_info."""
        return {"factor": dict(self._made), "solve": as_dict(self._parts.info[0])}

    def __repr__(self) -> str:
        n = self.shape[0]
        return f"<DenseFactor of a {n} x {n} matrix, {self.dtype}, {self.method}: {self.status}>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a DenseFactor cannot be pickled or copied")


def ldl_dense(A: MatrixLike, *, lower: Optional[bool] = None, hermitian: bool = False,
              singular: str = "warn", method: str = "auto", precision: str = "working",
              refinement: str = "auto", condition: bool = False, device: Optional[str] = None,
              **options: float) -> DenseFactor:  # fmt: skip
    """Factorize one dense symmetric indefinite matrix, P A Pᵀ = L D Lᵀ.

    Parameters
    ----------
    A : array of shape (n, n)
        float32, float64, complex64, complex128; copied.  Also CuPy's, PyTorch's and DLPack's, on the
        host or on a GPU.
    lower, hermitian, singular
        As for :func:`ldl`.
    method : {"auto", "tile", "bunch-kaufman", "rook", "aasen", "butterfly", "none"}
        "auto" is the tile method; UnsupportedError for what this build has not.
    precision : {"working", "single", "tf32", "half"}
        Of the factors; less than A's needs refinement.
    refinement : {"auto", "classic", "gmres"}
    condition : bool
        Estimate the condition number in each solve (``stats()["solve"]["condition"]``).
    device : "cpu" | "cuda" | "cuda:1"
        Where the factors are made and solved with; None: where A lies.
    **options
        pivot_threshold, zero_tolerance, tile, depth, seed, refine, accuracy, threads.

    Returns
    -------
    DenseFactor

    >>> import numpy as np, pymetapack
    >>> F = pymetapack.ldl_dense(np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]]))
    >>> F.inertia
    Inertia(positive=1, negative=2, zero=0)
    >>> F.solve(np.array([3.0, 4, 5])).round(12)
    array([1., 1., 1.])
    """
    if singular not in ("warn", "raise", "ignore"):
        raise ValueError("singular must be 'warn', 'raise' or 'ignore'")
    factor = DenseFactor(
        _Dense(A, lower, hermitian, method, precision, refinement, condition, options,
               device=device)  # fmt: skip
    )
    tell_apart(factor._parts.asymmetry, 2)
    if factor.status == "singular" and singular != "ignore":
        words = f"the matrix is singular: {factor.shape[0] - factor.rank} zero pivots"
        if singular == "raise":
            raise SingularMatrixError(words, "singular", "dense")
        warnings.warn(words, ZeroPivotWarning, stacklevel=2)
    return factor


def solve_dense(A: MatrixLike, b: VectorLike, *, lower: Optional[bool] = None, hermitian: bool = False,
                method: str = "auto", precision: str = "working", refinement: str = "auto",
                device: Optional[str] = None, **options: float) -> Array:  # fmt: skip
    """Solve A x = b once for a dense A: the cheapest method whose backward error passes.

    Parameters are those of :func:`ldl_dense`; b has shape (n,) or (n, k).  Returns x of b's shape,
    where b lies.  With method "auto", precision "single" is tried first at any order.

    >>> import numpy as np, pymetapack
    >>> pymetapack.solve_dense(np.array([[0.0, 1], [1, 0]]), np.array([3.0, 4]))
    array([4., 3.])
    """
    number, home = gpu_of(device, A), b if lies_there(b) else None
    link = Link(Context(), number)
    given, b = b, _here(b, link, "the right-hand side")
    a = _here(A, link, "the matrix")
    side = working_dtype(b.dtype, "the right-hand side")
    wide = np.float64 if side.name in ("float64", "complex128") else np.float32
    dtype = np.promote_types(working_dtype(a.dtype, "the matrix"), wide)
    p = _Dense(a, lower, hermitian, method, precision, refinement, False, options, dtype,
               "cpu" if number is None else f"cuda:{number}")  # fmt: skip
    tell_apart(p.asymmetry, 2)
    status = 0

    def solve(b: Array, x: Array) -> None:
        nonlocal status
        nrhs = 1 if b.ndim == 1 else b.shape[1]
        p.reserve(nrhs)
        if x is b:
            b = b.copy(order="F")
        status = p.run(lib.mpk_dense_sysv, b, x)

        def once(r: Array, d: Array) -> int:
            return p.run(lib.mpk_dense_solve, r, d)

        status = p.corrected(status, b, x, once)

    x = solve_columns(b, p.n, p.dtype, None, solve)
    if status and p.info.zero_pivots:
        status = int(lib.MPK_SINGULAR)
    if status:
        judge(status, p.info, x, "accuracy" in options, "", 3)
    if status == lib.MPK_SINGULAR:
        warnings.warn("the matrix is singular; the system was consistent", ZeroPivotWarning,
                      stacklevel=2)  # fmt: skip
    return as_given(given, x) if home is None else deliver(home, None, link, x)
