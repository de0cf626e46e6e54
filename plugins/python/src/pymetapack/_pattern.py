# SPDX-License-Identifier: BSD-3-Clause
"""Values of a part of a pattern, laid out in the whole of it."""

from __future__ import annotations

from typing import Optional

import numpy as np

from ._lib import lib
from ._matrix import Matrix
from ._types import Array


def _places(m: Matrix) -> tuple[Array, Array]:
    """Column and row of each entry of the user's, as one number; and which entries count."""
    major = np.repeat(np.arange(m.n, dtype=np.int64), np.diff(m.indptr))
    minor = m.indices.astype(np.int64)
    rows, columns = (major, minor) if m.kind == "csr" else (minor, major)
    count = np.ones(len(rows), bool)
    if m.triangle != lib.MPK_FULL and not m.general:  # as the library has it, by columns
        count = minor >= major if m.triangle == lib.MPK_LOWER else minor <= major
    return columns * m.n + rows, count


def filled(first: Matrix, m: Matrix) -> Optional[Array]:
    """The values of m in the order of first's, 0 where m has no entry; None: m has others."""
    assert m.values is not None
    whole, looked_at = _places(first)
    part, given = _places(m)
    at = np.flatnonzero(looked_at)
    at = at[np.argsort(whole[at], kind="stable")]
    known, wanted = whole[at], part[given]
    if len(known) == 0:
        return None if len(wanted) else np.zeros(len(whole), m.dtype)
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    if not np.array_equal(known[place], wanted):
        return None
    values = np.zeros(len(whole), m.dtype)
    np.add.at(values, at[place], m.values[given])
    return values
