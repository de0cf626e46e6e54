# SPDX-License-Identifier: BSD-3-Clause
"""The stiffest beam of half the material: topology optimisation, with the gradient by PyTorch.

    python topology.py [COLUMNS ROWS]

Half of a beam on two supports, pressed in its middle, of square elements with densities r and
stiffness r³ (SIMP; Bendsøe & Sigmund 2003).  The compliance f'u with K(r) u = f is one solve; its
gradient, -3 r² u'K_e u for each element, comes out of backward() without being written down, and
costs one solve more.  Elements give their 36 values each, and those of one place are summed.
"""

import sys

import numpy as np
import scipy.sparse as sp
import torch

import pymetapack.torch


def element(nu=0.3):
    """Stiffness of a square with E = 1 in plane stress, nodes counterclockwise: (x, y) of each."""
    points = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) / np.sqrt(3)
    corner = np.sign(points)
    elastic = np.array([[1, nu, 0], [nu, 1, 0], [0, 0, (1 - nu) / 2]]) / (1 - nu**2)
    K = np.zeros((8, 8))
    for s, t in points:
        d = (
            np.stack([corner[:, 0] * (1 + t * corner[:, 1]), corner[:, 1] * (1 + s * corner[:, 0])])
            / 2
        )
        B = np.zeros((3, 8))
        B[0, ::2], B[1, 1::2], B[2, ::2], B[2, 1::2] = d[0], d[1], d[1], d[0]
        K += B.T @ elastic @ B / 4
    return K


def main(columns=60, rows=20, steps=40, half=0.5):
    node = np.arange((columns + 1) * (rows + 1)).reshape(columns + 1, rows + 1)
    corners = np.stack([node[:-1, :-1], node[1:, :-1], node[1:, 1:], node[:-1, 1:]], -1).reshape(
        -1, 4
    )
    unknowns = np.stack([2 * corners, 2 * corners + 1], -1).reshape(-1, 8)
    fixed = np.concatenate([2 * node[0], [2 * node[-1, 0] + 1]])  # symmetry; a roller
    free = np.setdiff1d(np.arange(2 * node.size), fixed)
    number = np.full(2 * node.size, -1)
    number[free] = np.arange(len(free))
    low, high = np.tril_indices(8)
    i, j = number[unknowns[:, low]], number[unknowns[:, high]]
    inside = (i >= 0) & (j >= 0)
    i, j = np.maximum(i, j)[inside], np.minimum(i, j)[inside]
    pattern = sp.coo_matrix((np.ones(len(i)), (i, j)), (len(free), len(free)))
    solver = pymetapack.torch.Solver(pattern, lower=True)
    inside = torch.tensor(inside)
    stiffness = torch.tensor(element()[low, high])
    force = torch.zeros(len(free), dtype=torch.float64)
    force[number[2 * node[0, -1] + 1]] = -1

    place = np.stack([np.arange(columns).repeat(rows), np.tile(np.arange(rows), columns)], -1)
    near = sp.coo_matrix(np.maximum(0, 1.5 - np.linalg.norm(place[:, None] - place[None], axis=-1)))
    near = sp.diags(1 / np.asarray(near.sum(axis=1)).ravel()) @ near
    blur = torch.tensor(near.toarray())  # no checkerboards

    def compliance(r):
        values = ((1e-9 + (blur @ r) ** 3)[:, None] * stiffness)[inside]
        return force @ solver.solve(values, force)

    r = torch.full((columns * rows,), half, dtype=torch.float64)
    history = []
    for _ in range(steps):
        r.requires_grad_()
        cost = compliance(r)
        (gradient,) = torch.autograd.grad(cost, r)
        history.append(float(cost))
        r, least, most = r.detach(), 0.0, 1e9
        while most - least > 1e-6 * (most + least):  # the multiplier of the volume
            middle = (least + most) / 2
            new = torch.clamp(r * torch.sqrt(-gradient / middle), 0, 1)
            new = torch.minimum(torch.maximum(new, r - 0.2), r + 0.2)
            least, most = (middle, most) if float(new.mean()) > half else (least, middle)
        r = new
    some = torch.tensor([3, columns * rows // 2])  # beside differences
    for k in some:
        h = torch.zeros_like(r)
        h[k] = 1e-5
        difference = (compliance(r + h) - compliance(r - h)) / 2e-5
        s = r.clone().requires_grad_()
        assert torch.isclose(
            torch.autograd.grad(compliance(s), s)[0][k],
            difference,
            rtol=1e-4,
            atol=1e-6 * history[-1],
        )
    print(f"{columns} x {rows} elements: compliance from {history[0]:.1f} to {history[-1]:.1f} in {steps} steps, "
          f"{solver.factorizations} factorizations")  # fmt: skip
    picture = (blur @ r).reshape(columns, rows).T.flip(0)
    for line in picture[:: max(1, rows // 20)]:
        print("".join(" .:*#"[min(4, int(5 * v))] for v in line[:: max(1, columns // 60)]))
    assert history[-1] < 0.4 * history[0]
    return r


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
