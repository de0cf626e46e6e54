# SPDX-License-Identifier: BSD-3-Clause
"""Do the arrays of a sparse matrix fit one another?  Before anybody's compiled code reads them: SciPy
looks when it makes a matrix, not at what is put into its attributes afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._types import Array


_MOST = 2**31 - 1  # orders and numbers of right-hand sides have 32 bits


def check_order(n: int, what: str = "the order") -> int:
    """ValueError for what 32 bits do not hold, before anything is made of that size."""
    if int(n) > _MOST:
        raise ValueError(f"{what} {n} exceeds 2**31 - 1")
    return int(n)


def _integers(x: Any, name: str, what: str) -> Array:
    array = np.asarray(x)
    if array.ndim != 1:
        raise ValueError(f"{what}'s {name} has {array.ndim} dimensions, not 1")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{what}'s {name} has dtype {array.dtype}: integers are wanted")
    return array


def check_range(x: Array, size: int, name: str, what: str) -> None:
    """ValueError, naming the first, for entries outside 0 .. size - 1."""
    if not len(x) or (int(x.min()) >= 0 and int(x.max()) < size):
        return
    first = int(np.flatnonzero((x < 0) | (x >= size))[0])
    raise ValueError(
        f"{what}'s {name}[{first}] is {x[first]}: it has indices outside 0 .. {size - 1}"
    )


def check_compressed(indptr: Any, indices: Any, data: Any, major: int, minor: int,
                     what: str = "the matrix") -> int:  # fmt: skip
    """Of CSC and CSR, and of BSR by its blocks.  Returns how many entries there are."""
    ptr, idx = _integers(indptr, "indptr", what), _integers(indices, "indices", what)
    if len(ptr) != major + 1:
        raise ValueError(f"{what}'s indptr has {len(ptr)} entries, and {major + 1} fit its shape")
    if ptr[0] != 0:
        raise ValueError(f"{what}'s indptr begins with {ptr[0]}, not with 0")
    falls = np.flatnonzero(ptr[1:] < ptr[:-1])
    if len(falls):
        k = int(falls[0])
        raise ValueError(f"{what}'s indptr decreases: indptr[{k}] is {ptr[k]}, indptr[{k + 1}] is "
                         f"{ptr[k + 1]}")  # fmt: skip
    nnz = int(ptr[-1])
    if nnz > len(idx) or nnz > len(data):
        raise ValueError(f"{what}'s indptr does not fit its indices and data: it ends at {nnz}, and "
                         f"they have {len(idx)} and {len(data)} entries")  # fmt: skip
    check_range(idx[:nnz], minor, "indices", what)
    return nnz


def _check_blocks(A: Any, what: str) -> None:
    data = np.asarray(A.data)
    if data.ndim != 3 or 0 in data.shape[1:]:
        raise ValueError(f"{what}'s data have shape {data.shape}: (blocks, rows, columns) is wanted")
    rows, cols = data.shape[1:]
    if A.shape[0] % rows or A.shape[1] % cols:
        raise ValueError(f"{what}'s blocks are {rows} x {cols}, and do not fill {A.shape}")
    check_compressed(A.indptr, A.indices, data, A.shape[0] // rows, A.shape[1] // cols, what)


def _check_places(A: Any, what: str) -> None:
    row, col = _integers(A.row, "row", what), _integers(A.col, "col", what)
    if not len(row) == len(col) == len(A.data):
        raise ValueError(f"{what} has {len(row)} rows, {len(col)} columns and {len(A.data)} values")
    check_range(row, A.shape[0], "row", what)
    check_range(col, A.shape[1], "col", what)


def check_sparse(A: Any, what: str = "the matrix") -> None:
    """A SciPy matrix or array of any format."""
    if len(A.shape) != 2:
        return  # whoever takes it says so
    if A.format in ("csc", "csr"):
        if np.ndim(A.data) != 1:
            raise ValueError(f"{what}'s data have {np.ndim(A.data)} dimensions, not 1")
        rows, cols = A.shape if A.format == "csr" else A.shape[::-1]
        check_compressed(A.indptr, A.indices, A.data, int(rows), int(cols), what)
    elif A.format == "bsr":
        _check_blocks(A, what)
    elif A.format == "coo":
        _check_places(A, what)
    elif A.format == "dia":
        if np.ndim(A.data) != 2 or len(A.data) != len(_integers(A.offsets, "offsets", what)):
            raise ValueError(f"{what} has {len(A.offsets)} offsets for data of shape "
                             f"{np.shape(A.data)}")  # fmt: skip
    elif A.format == "lil":
        if not len(A.rows) == len(A.data) == A.shape[0]:
            raise ValueError(f"{what} has {len(A.rows)} and {len(A.data)} lists for {A.shape[0]} rows")
        for k, (row, values) in enumerate(zip(A.rows, A.data)):
            if len(row) != len(values):
                raise ValueError(f"row {k} of {what} has {len(row)} indices and {len(values)} values")
            if row:
                check_range(np.asarray(row), A.shape[1], f"rows[{k}]", what)
