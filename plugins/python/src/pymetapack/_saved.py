# SPDX-License-Identifier: BSD-3-Clause
"""Analyses and factors in files, and trees: what replaces the search for an order."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np
from numpy.typing import ArrayLike

from ._lib import ffi, lib
from ._matrix import copy_array
from ._types import Array

if TYPE_CHECKING:
    from ._context import Context

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


class Tree(NamedTuple):
    """An order and its supernodes, as :attr:`Factor.tree` has them and :func:`ldl` takes them.

    Position k is row and column ``perm[k]`` of A.  Supernode s has the positions ``first[s]`` to
    ``first[s + 1] - 1``, and its parent is ``parent[s]``, -1 at a root.  The rows below its columns
    are the positions ``row[row_first[s]:row_first[s + 1]]``; of a tree that is given these two are
    not looked at.
    """

    perm: Array
    first: Array
    parent: Array
    row_first: Optional[Array] = None
    row: Optional[Array] = None


class Source(NamedTuple):
    """Where an analysis comes from, and whether its factor comes with it."""

    path: Optional[bytes] = None
    factor: bool = False
    tree: Optional[tuple[Array, Array, Array]] = None


def of_path(path: Path, factor: bool = False) -> Source:
    return Source(os.fsencode(path), factor)


def of_tree(tree: Union[Tree, Sequence[ArrayLike]]) -> Source:
    """Of three arrays, whose lengths are checked here; all else is for the library."""
    if len(tree) < 3:
        raise ValueError("a tree is (perm, first, parent)")
    arrays = []
    for name, x in zip(("perm", "first", "parent"), tree):
        array = np.ascontiguousarray(x)
        if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
            raise TypeError(f"{name} of the tree must be a 1-D array of integers")
        if array.size and not -(2**31) <= int(array.min()) <= int(array.max()) < 2**31:
            raise ValueError(f"{name} of the tree has entries that are no 32-bit integers")
        arrays.append(array.astype(np.int32))
    perm, first, parent = arrays
    if len(first) != len(parent) + 1:
        raise ValueError("first of the tree must have one entry more than parent")
    return Source(tree=(perm, first, parent))


def analyse(context: Context, source: Optional[Source], problem: Any, options: Any, an: Any,
            **how: Any) -> int:  # fmt: skip
    """``mpk_analyse``, or what stands in its place."""
    if source is None:
        return context.call(lib.mpk_analyse, problem[0], options, an, **how)
    if source.path is not None:
        return context.call(lib.mpk_analysis_load, problem[0], source.path, an, **how)
    assert source.tree is not None
    perm, first, parent = source.tree
    view = ffi.new("mpk_problem_view *")
    lib.mpk_problem_view_get(problem[0], view)
    if len(perm) != view.n:
        raise ValueError(f"the tree has {len(perm)} positions, the matrix has order {view.n}")
    arrays = [ffi.from_buffer("int32_t[]", x) for x in (perm, first, parent)]
    return context.call(
        lib.mpk_analyse_tree, problem[0], options, len(parent), *arrays, an, **how
    )  # fmt: skip


def tree_of(an: Any) -> Optional[Tree]:
    """Copies of the arrays; None: the analysis has no tree."""
    tree = ffi.new("mpk_tree *")
    lib.mpk_analysis_tree_get(an, tree)
    if tree.perm == ffi.NULL:
        return None
    n, count = int(tree.n), int(tree.supernodes)
    row_first = copy_array(tree.row_first, count + 1, np.int64)
    return Tree(copy_array(tree.perm, n, np.int32), copy_array(tree.first, count + 1, np.int32),
                copy_array(tree.parent, count, np.int32), row_first,
                copy_array(tree.row, int(row_first[-1]), np.int32))  # fmt: skip


@contextmanager
def in_memory(data: bytes = b"") -> Iterator[tuple[str, Any]]:
    """A file that is in nobody's folder: its name, and the file."""
    if hasattr(os, "memfd_create"):
        with open(os.memfd_create("metapack"), "w+b") as file:
            file.write(data)
            file.flush()
            yield f"/proc/self/fd/{file.fileno()}", file
    else:  # pragma: no cover
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            yield file.name, file
