# SPDX-License-Identifier: BSD-3-Clause
"""Orders that 32 bits do not hold are refused as they are, before anything of that size is made."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

import pymetapack

HUGE = [2**31, 2**32 + 5]  # the second one, cut, is 5


@pytest.mark.parametrize("n", HUGE)
def test_orders(n):
    entries = ([1.0], ([0], [0]))
    calls = [
        lambda: pymetapack.ldl(sp.coo_matrix(entries, (n, n))),
        lambda: pymetapack.ildl(sp.coo_matrix(entries, (n, n))),
        lambda: pymetapack.ldu(sp.coo_matrix(entries, (n, n))),
        lambda: pymetapack.isai(sp.coo_matrix(entries, (n, n))),
        lambda: pymetapack.minres(LinearOperator((n, n), matvec=lambda x: x, dtype=float), np.broadcast_to(0.0, n)),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=f"the order {n} exceeds"):
            call()


def test_right_hand_sides():
    F = pymetapack.ldl(np.eye(3))
    with pytest.raises(ValueError, match="right-hand sides 4294967297 exceeds"):
        F.solve(np.broadcast_to(0.0, (3, 2**32 + 1)))
