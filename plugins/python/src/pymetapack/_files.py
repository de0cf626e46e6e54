# SPDX-License-Identifier: BSD-3-Clause
"""Matrices from files and generators, as SciPy matrices."""

from __future__ import annotations

import os
from typing import Any, Union

import numpy as np
import scipy.sparse as sp

from ._context import Context
from ._lib import ffi, lib, text
from ._matrix import DTYPES, copy_array, destroy_problem, view_of
from ._saved import encoded

__all__ = ["generate", "generators", "read"]


def _full(place: Any) -> sp.csc_matrix:
    """The whole matrix of a problem, both triangles (which a general one has as it is)."""
    view = view_of(place)
    n, nnz, dtype = int(view.n), int(view.nnz), DTYPES[view.scalar]
    rows = copy_array(view.ai, nnz, np.int32)
    indptr = copy_array(view.ap, n + 1, np.int64)
    values = copy_array(view.ax, nnz, dtype)
    if view.symmetry == lib.MPK_GENERAL:
        return sp.csc_matrix((values, rows, indptr), shape=(n, n))
    cols = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    off = rows != cols
    mirror = values[off].conj() if view.symmetry == lib.MPK_HERMITIAN else values[off]
    both = (
        np.concatenate([values, mirror]),
        (np.concatenate([rows, cols[off]]), np.concatenate([cols, rows[off]])),
    )
    return sp.csc_matrix(both, shape=(n, n))


def read(path: Union[str, "os.PathLike[str]"], symmetry_tolerance: float = -1.0) -> sp.csc_matrix:
    """Read a matrix: Matrix Market, Rutherford-Boeing or .npy, plain, .gz, .xz.

    symmetry_tolerance: how far a file with both triangles may be from symmetric, as in
    :func:`keys`.  By default one that is further away is read as it is; with a tolerance it is
    refused.

    Returns
    -------
    A : csc_matrix of shape (n, n), float64 or complex128 (of a .npy file its own), both triangles; explicit zeros are kept
    """
    context = Context()
    context.check(context.call(lib.mpk_context_set_symmetry_tolerance, float(symmetry_tolerance)))
    place = ffi.new("mpk_problem **")
    context.check(context.call(lib.mpk_problem_read, encoded(path), place, long=True))
    try:
        return _full(place)
    finally:
        destroy_problem(place)


def generate(spec: str, seed: int = 1) -> sp.csc_matrix:
    """A generated test matrix: ``generate("nlpkkt 10")``, ``generate("lp-published K.mtx.xz")``.

    Returns
    -------
    A : csc_matrix, both triangles; the same bits on every machine

    >>> import pymetapack
    >>> pymetapack.generate("nlpkkt 5").shape
    (400, 400)
    """
    context = Context()
    place = ffi.new("mpk_problem **")
    status = context.call(lib.mpk_problem_generate, spec.encode(), int(seed), place, long=True)
    context.check(status)
    try:
        return _full(place)
    finally:
        destroy_problem(place)


def generators() -> str:
    """A line for each generator: name, parameters, formula."""
    return text(lib.mpk_generators())
