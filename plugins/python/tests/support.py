# SPDX-License-Identifier: BSD-3-Clause
"""Matrices with known properties, and bounds for what a solver may get wrong."""

import os
from pathlib import Path

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[3]
DATA = ROOT / "data"
MATRICES = Path(os.environ.get("METAPACK_MATRICES", ROOT.parent / "shared" / "matrices"))
DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def random_values(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def symmetric(rng, n, dtype, hermitian=False, density=0.3, zero_diagonal=False):
    """A dense symmetric or Hermitian matrix with a sparse pattern."""
    a = random_values(rng, (n, n), dtype) * (rng.random((n, n)) < density)
    a = np.tril(a)
    lower = np.tril(a, -1)
    diagonal = np.zeros(n, dtype) if zero_diagonal else np.diag(a).copy()
    if hermitian:
        diagonal = diagonal.real.astype(dtype)
    return lower + (lower.conj().T if hermitian else lower.T) + np.diag(diagonal)


KINDS = {
    "real": (np.float64, False),
    "symmetric": (np.complex128, False),
    "Hermitian": (np.complex128, True),
}


def of_kind(rng, n, kind):
    """A regular indefinite dense one of KINDS, with zeros on its diagonal."""
    dtype, hermitian = KINDS[kind]
    a = symmetric(rng, n, dtype, hermitian, density=0.5, zero_diagonal=True)
    return a + 3 * np.diag((-1.0) ** np.arange(n) * (np.arange(n) % 3 > 0)).astype(dtype)


def kkt(rng, n, m, dtype=np.float64):
    """[H B^T; B 0] with H positive definite and B of full rank: inertia (n, m, 0)."""
    h = rng.standard_normal((n, n)) * (rng.random((n, n)) < 0.2)
    h = h @ h.T + np.eye(n)
    b = np.hstack([np.eye(m), rng.standard_normal((m, n - m)) * (rng.random((m, n - m)) < 0.3)])
    return np.block([[h, b.T], [b, np.zeros((m, m))]]).astype(dtype)


def equilibrated(a):
    """S A S with entries of moderate size: a congruence, so the inertia is that of A."""
    a = np.array(a)
    for _ in range(8):
        r = np.sqrt(np.abs(a).max(axis=1))
        r[r == 0] = 1
        a = a / r[:, None] / r[None, :]
    return a


def inertia_bounds(a):
    """Eigenvalues that rounding cannot move over zero: at least so many positive and negative."""
    a = equilibrated(a)
    values = np.linalg.eigvalsh(a)
    limit = 10 * len(a) * np.finfo(a.dtype).eps * np.abs(values).max(initial=0)
    return int((values > limit).sum()), int((values < -limit).sum())


def check_inertia(a, inertia):
    positive, negative = inertia_bounds(a)
    assert sum(inertia) == len(a)
    assert inertia[0] >= positive and inertia[1] >= negative, (inertia, positive, negative)


def backward_error(a, x, b):
    """max |b - A x| / (norm A norm x + norm b), without overflow on the way."""
    a = sp.csr_matrix(a)
    size = max(abs(a).max(), np.finfo(a.dtype).tiny) if a.nnz else 1
    a, b = a / size, np.asarray(b) / size
    r = np.abs(b - a @ x).max(initial=0)
    scale = abs(a).sum(axis=1).max() * np.abs(x).max(initial=0) + np.abs(b).max(initial=0)
    return r / scale if scale else r


def check_solution(a, x, b):
    """x agrees with dense LU as far as the condition of a lets two good solutions agree."""
    n, eps = len(a), np.finfo(a.dtype).eps
    assert backward_error(a, x, b) <= 4 * n * eps
    condition = np.linalg.cond(a) if n else 1
    if condition * eps * n < 1e-2:
        y = np.linalg.solve(a, b)
        limit = 10 * n * condition * eps * max(np.abs(y).max(initial=0), 1e-300)
        assert np.abs(x - y).max(initial=0) <= limit
