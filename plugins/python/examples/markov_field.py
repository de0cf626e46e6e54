# SPDX-License-Identifier: BSD-3-Clause
"""A map from scattered measurements, with its standard deviation everywhere: a Gaussian Markov field.

    python markov_field.py [N]

On a grid of N x N cells the prior is a Matern field by its precision matrix (Lindgren, Rue &
Lindstrom 2011, JRSS B 73): Q = tau (kappa^2 I - Laplacian)^2.  Measurements y = B x + noise of
standard deviation sigma make it Q + B'B / sigma^2.  The mean is one solve, the standard deviation
of every cell the diagonal of the inverse, and a field that might be the truth is one sample.
"""

import sys

import numpy as np
import scipy.sparse as sp

import pymetapack


def prior(n, correlation):
    """Precision of a field of variance about 1 that forgets itself over so many cells."""
    kappa = np.sqrt(8) / correlation
    path = sp.diags([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], [-1, 0, 1])
    path = path.tolil()
    path[0, 0] = path[-1, -1] = 1  # nothing flows over the edge
    one = sp.identity(n)
    k = kappa**2 * sp.identity(n * n) + sp.kron(path, one) + sp.kron(one, path)
    return (k @ k / (4 * np.pi * kappa**2)).tocsc()


def main(n=60, measured=200, sigma=0.05, seed=1):
    rng = np.random.default_rng(seed)
    q = prior(n, 15)
    truth = pymetapack.ldl(q).sample(rng=rng)
    cells = rng.choice(n * n, measured, replace=False)
    b = sp.csr_matrix((np.ones(measured), (np.arange(measured), cells)), (measured, n * n))
    y = b @ truth + sigma * rng.standard_normal(measured)
    posterior = pymetapack.ldl(q + b.T @ b / sigma**2)
    mean = posterior.solve(b.T @ y / sigma**2)
    deviation = np.sqrt(posterior.marginal_variances())
    inside = np.abs(truth - mean) < 2 * deviation
    print(f"{n * n} cells, {measured} measured: standard deviation from {deviation.min():.3f} to "
          f"{deviation.max():.3f}; {inside.mean():.1%} of the truth within two of them")  # fmt: skip
    some = np.linspace(0, n * n - 1, 5).astype(int)  # beside solves with unit vectors
    exact = posterior.solve(np.eye(n * n)[:, some])[some, np.arange(len(some))]
    assert np.allclose(deviation[some] ** 2, exact, rtol=1e-9)
    assert deviation[cells].max() < 1.01 * sigma and inside.mean() > 0.9
    return mean, deviation


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
