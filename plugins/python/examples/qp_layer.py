# SPDX-License-Identifier: BSD-3-Clause
"""A quadratic program as a layer of a network: gradients of its solution in all of its data.

    python qp_layer.py [N]

The layer is x(q) = argmin ½ x'Qx + q'x with Ax = b, x >= 0 (Amos & Kolter 2017, OptNet).  An
interior-point method finds x and its multipliers without derivatives; one step of Newton's method
from there, with them, does not move x and carries the gradient of the implicit function.  Its
system is [Q + Z/X, A'; A, 0]: symmetric, indefinite, of one pattern in all steps.

A batch of programs is solved side by side (ldl_batch), forward and backward.

Here the cost q of an agent who plans so is learned from what was seen of its plans.
"""

import sys

import numpy as np
import scipy.sparse as sp
import torch

import pymetapack.torch


class QuadraticProgram(torch.nn.Module):
    """Of fixed Q (sparse, positive definite) and A (of full rank)."""

    def __init__(self, Q, A):
        super().__init__()
        self.n, self.m = Q.shape[0], A.shape[0]
        lower = sp.tril(Q).tocoo()
        A = A.tocoo()
        every = np.arange(
            self.n
        )  # one value for each of Q's lower triangle, of Z/X, and of A; summed
        rows = np.concatenate([lower.row, every, self.n + A.row])
        cols = np.concatenate([lower.col, every, A.col])
        pattern = sp.coo_matrix((np.ones(len(rows)), (rows, cols)), (self.n + self.m,) * 2)
        self.solver = pymetapack.torch.Solver(pattern, lower=True)
        self.Q, self.A = torch.tensor(lower.data), torch.tensor(A.data)
        self.whole, self.constraints = torch.tensor(Q.toarray()), torch.tensor(A.toarray())

    def step(self, q, b, x, y, z, mu):
        """Newton's step for Qx + q - A'y - z = 0, Ax = b, xz = mu; of batches."""
        values = torch.cat(
            [self.Q.expand(*q.shape[:-1], -1), z / x, self.A.expand(*q.shape[:-1], -1)], -1
        )
        dual = x @ self.whole + q - y @ self.constraints
        right = torch.cat([mu / x - dual, b - x @ self.constraints.T], -1)
        found = self.solver.solve(values, right)
        dx, dy = found[..., : self.n], -found[..., self.n :]
        return dx, dy, mu / x - z - z / x * dx

    def forward(self, q, b):
        with torch.no_grad():
            x, z = torch.ones_like(q), torch.ones_like(q)
            y = torch.zeros(*q.shape[:-1], self.m, dtype=q.dtype)
            for _ in range(60):
                gap = (x * z).mean(-1, keepdim=True)
                dx, dy, dz = self.step(q, b, x, y, z, 0.1 * gap)
                length = 1.0
                for v, d in ((x, dx), (z, dz)):  # stay inside
                    length = min(length, 0.99 * float((v / torch.clamp(-d, min=1e-300)).min()))
                x, y, z = x + length * dx, y + length * dy, z + length * dz
                if float(gap.max()) < 1e-12:
                    break
        return x + self.step(q, b, x, y, z, (x * z))[0]


def main(n=20, plans=6, seed=0):
    rng = np.random.default_rng(seed)
    path = sp.diags([np.full(n - 1, -0.4), np.full(n, 1.0), np.full(n - 1, -0.4)], [-1, 0, 1])
    A = sp.csr_matrix(np.vstack([np.ones(n), np.arange(n) / n]))
    layer = QuadraticProgram(path.tocsc(), A)
    truth = torch.tensor(rng.standard_normal(n))
    b = torch.tensor(np.stack([rng.uniform(4, 8, plans), rng.uniform(2, 3, plans)], -1))
    seen = layer(truth.expand(plans, n), b)
    assert float((seen @ layer.constraints.T - b).abs().max()) < 1e-9 and float(seen.min()) > -1e-9
    # gradients in the cost and in the constraints, beside differences
    some = torch.tensor(rng.standard_normal((4, n))), b[:4].clone()
    checked = [x.requires_grad_() for x in some]
    assert torch.autograd.gradcheck(layer, checked, atol=1e-5, fast_mode=True)
    q = torch.zeros(n, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([q], max_iter=20, line_search_fn="strong_wolfe")

    def loss():
        optimizer.zero_grad()
        value = ((layer(q.expand(plans, n), b) - seen) ** 2).mean()
        value.backward()
        return value

    first = loss().item()
    optimizer.step(loss)
    last = loss().item()
    print(f"{plans} plans with {n} unknowns, {int((seen > 1e-6).sum())} of {seen.numel()} positive: "
          f"mean square of the miss from {first:.2e} to {last:.2e}")  # fmt: skip
    assert last < 1e-3 * first
    return q


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
