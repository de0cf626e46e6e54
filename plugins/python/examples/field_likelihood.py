# SPDX-License-Identifier: BSD-3-Clause
"""How far does a field remember itself?  The parameters of a Gaussian Markov field by its likelihood.

    python field_likelihood.py [N]

On a grid of N x N cells x has the precision matrix Q = tau (kappa² I - Laplacian)² (Lindgren, Rue &
Lindström 2011, JRSS B 73); y are measurements of some cells with noise of the standard deviation
sigma.  With P = Q + B'B / sigma² and its mean m = P⁻¹ B'y / sigma²,

    log p(y) = ½ log det Q - ½ log det P - k log sigma - ½ (y - Bm)'y / sigma² + const,

of which JAX takes the gradient in log kappa, log tau and log sigma: one factorization of Q, one of
P, and their inverses' entries on the pattern.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
import scipy.sparse as sp

import pymetapack
import pymetapack.jax


def laplacian(n):
    path = sp.diags(
        [np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], [-1, 0, 1]
    ).tolil()
    path[0, 0] = path[-1, -1] = 1  # nothing flows over the edge
    return (sp.kron(path, sp.identity(n)) + sp.kron(sp.identity(n), path)).tocsc()


def main(n=40, measured=600, seed=3):
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(seed)
    L = laplacian(n)
    pattern = sp.tril(abs(L @ L) + abs(L) + sp.identity(n * n), format="csc")

    def on_pattern(M):
        return jnp.asarray(np.asarray(M.tocsr()[pattern.tocoo().row, pattern.tocoo().col]).ravel())

    squared, once, unit = (on_pattern(M) for M in (L @ L, L, sp.identity(n * n, format="csc")))
    cells = rng.choice(n * n, measured, replace=False)
    marks = np.zeros(n * n)
    marks[cells] = 1
    seen = on_pattern(sp.diags(marks))
    solver = pymetapack.jax.Solver(pattern, lower=True)

    def precision(log_kappa, log_tau):
        k2 = jnp.exp(2 * log_kappa)
        return jnp.exp(log_tau) * (k2**2 * unit + 2 * k2 * once + squared)

    truth = np.array(
        [np.log(np.sqrt(8) / 8), np.log(2.0), np.log(0.3)]
    )  # it forgets itself in 8 cells
    Q = sp.csc_matrix((np.asarray(precision(*truth[:2])), pattern.indices, pattern.indptr))
    x = pymetapack.ldl(Q, lower=True).sample(rng=rng)
    y = jnp.asarray(x[cells] + np.exp(truth[2]) * rng.standard_normal(measured))

    @jax.jit
    def cost(theta):
        Q, precise = precision(theta[0], theta[1]), jnp.exp(-2 * theta[2])
        P = Q + seen * precise
        mean = solver.solve(P, jnp.zeros(n * n).at[cells].set(y * precise))
        miss = y @ (y - mean[cells]) * precise
        return 0.5 * (solver.logdet(P) - solver.logdet(Q) + miss) + measured * theta[2]

    gradient = jax.jit(jax.value_and_grad(cost))
    start = np.array([0.0, 0.0, 0.0])
    found = scipy.optimize.minimize(
        lambda t: [np.asarray(part) for part in gradient(t)], start, jac=True
    )
    step = 1e-5 * np.eye(3)
    differences = [(cost(start + h) - cost(start - h)) / 2e-5 for h in step]
    assert np.allclose(gradient(start)[1], differences, rtol=1e-5)
    far = np.sqrt(8) / np.exp([truth[0], found.x[0]])
    print(f"{n * n} cells, {measured} measured: the field forgets itself in {far[1]:.1f} cells (truth: {far[0]:.0f}), "
          f"noise {np.exp(found.x[2]):.3f} ({np.exp(truth[2]):.3f}); {found.nit} steps")  # fmt: skip
    assert found.fun < cost(truth) and 0.5 < far[1] / far[0] < 2
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
