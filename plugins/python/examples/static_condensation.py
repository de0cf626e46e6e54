# SPDX-License-Identifier: BSD-3-Clause
"""Static condensation: a plate of equal finite-element patches, each factorized once for all.

    python static_condensation.py [ELEMENTS OF A PATCH'S SIDE [PATCHES OF THE PLATE'S SIDE]]

Waves on a square plate, K - w² M of bilinear elements.  The interior of one patch is eliminated: its
Schur complement on the boundary is the patch as one element, a superelement.  The plate is assembled
from those, solved on the skeleton alone, and the interiors follow, all patches as columns of one
right-hand side.  The answer is that of the whole plate.
"""

import sys

import numpy as np
import scipy.sparse as sp

import pymetapack

STIFFNESS = np.array([[4, -1, -1, -2], [-1, 4, -2, -1], [-1, -2, 4, -1], [-2, -1, -1, 4]]) / 6
MASS = np.array([[4, 2, 2, 1], [2, 4, 1, 2], [2, 1, 4, 2], [1, 2, 2, 4]]) / 36


def assembled(element, nodes, n):
    """The sum of equal elements, of which each row of ``nodes`` is one."""
    rows = np.repeat(nodes, nodes.shape[1], axis=1).ravel()
    cols = np.tile(nodes, (1, nodes.shape[1])).ravel()
    return sp.csc_matrix((np.tile(element.ravel(), len(nodes)), (rows, cols)), shape=(n, n))


def squares(side, step=1):
    """Nodes of the squares of a grid of ``side`` x ``side`` nodes, ``step`` nodes wide."""
    corner = np.arange(0, side - 1, step)
    first = (corner[:, None] * side + corner[None, :]).ravel()
    return first[:, None] + np.array([0, step, step * side, step * (side + 1)])


def main(elements, patches):
    w = 9.7  # per side of the plate
    side, whole = elements + 1, elements * patches + 1
    h = 1 / (whole - 1)
    element = STIFFNESS - w**2 * h**2 * MASS

    # one patch: its inner nodes are eliminated, the others stay
    patch = assembled(element, squares(side), side**2)
    node = np.arange(side**2).reshape(side, side)
    boundary = np.unique(np.concatenate([node[0], node[-1], node[:, 0], node[:, -1]]))
    inner = np.setdiff1d(node, boundary)
    small = pymetapack.schur(patch, boundary)
    print(f"a patch of {side**2} nodes, {len(inner)} inside with inertia {tuple(small.inertia)}; "
          f"its superelement has {len(boundary)}")  # fmt: skip

    # the plate: of superelements; the edge is held
    grid = np.arange(whole**2).reshape(whole, whole)
    corner = np.arange(0, whole - 1, elements)
    first = (corner[:, None] * whole + corner[None, :]).ravel()
    place = first[:, None] + (np.arange(side)[:, None] * whole + np.arange(side)).ravel()
    f = np.sin(7.0 * np.arange(whole**2)) * h**2
    held = np.unique(np.concatenate([grid[0], grid[-1], grid[:, 0], grid[:, -1]]))
    skeleton = assembled(small.S, place[:, boundary], whole**2)
    # the forces: of the skeleton its own, and what the patches carry over to their boundaries
    load = np.zeros((side**2, len(place)))
    load[inner] = f[place[:, inner]].T
    carried = small.condense(load)
    force = np.zeros(whole**2)
    np.add.at(force, place[:, boundary].T.ravel(), carried.ravel())
    outer = np.unique(place[:, boundary])
    force[outer] += f[outer]
    free = np.setdiff1d(outer, held)
    x = np.zeros(whole**2)
    x[free] = pymetapack.ldl(skeleton[free][:, free]).solve(force[free])
    interiors = small.expand(load, x[place[:, boundary]].T)
    x[place[:, inner].T] = interiors[inner]

    # at once
    all_free = np.setdiff1d(grid, held)
    plate = assembled(element, squares(whole), whole**2)[all_free][:, all_free]
    factor = pymetapack.ldl(plate)
    y = factor.solve(f[all_free])
    error = np.abs(x[all_free] - y).max() / np.abs(y).max()
    print(f"the plate: {len(all_free)} unknowns, {len(free)} on the skeleton; {factor.nneg} waves below w; "
          f"both ways are {error:.1e} apart")  # fmt: skip
    # Haynsworth: the inertia of the whole is that of the parts
    below = len(place) * small.inertia.negative + pymetapack.ldl(skeleton[free][:, free]).nneg
    assert below == factor.nneg and error < 1e-9
    return small


if __name__ == "__main__":
    main(*(int(word) for word in (sys.argv[1:] or ["16", "5"])))
