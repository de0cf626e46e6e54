# SPDX-License-Identifier: BSD-3-Clause
"""Stokes flow in a driven cavity with scikit-fem (P2-P1): a saddle point with a zero block.

    python stokes.py [REFINEMENTS]

The lid moves, one pressure is fixed, and the rest is one symmetric indefinite system.  Its inertia
says that the discretisation is stable: as many negative eigenvalues as pressures.
"""

import sys

import numpy as np
import scipy.sparse as sp
from skfem import Basis, ElementTriP1, ElementTriP2, ElementVector, MeshTri, asm, condense
from skfem.models.general import divergence
from skfem.models.poisson import vector_laplace

import pymetapack


def cavity(refinements):
    """(K, f, number of velocities, number of pressures) of what is left to solve."""
    mesh = MeshTri.init_sqsymmetric().refined(refinements)
    velocity = Basis(mesh, ElementVector(ElementTriP2()), intorder=4)
    pressure = velocity.with_element(ElementTriP1())
    a, b = asm(vector_laplace, velocity), asm(divergence, velocity, pressure)
    k = sp.bmat([[a, -b.T], [-b, None]], format="csr")
    x = np.zeros(k.shape[0])
    wall = velocity.get_dofs()
    lid = velocity.get_dofs(lambda x: x[1] == 1.0).all("u^1")
    x[lid] = 1.0
    fixed = np.concatenate([wall.all(), [velocity.N]])  # and the first pressure
    inner, f, _, rest = condense(k, np.zeros_like(x), x=x, D=fixed)
    return inner, f, int((rest < velocity.N).sum()), int((rest >= velocity.N).sum())


def main(refinements):
    k, f, velocities, pressures = cavity(refinements)
    factor = pymetapack.ldl(k)
    x = factor.solve(f)
    error = np.abs(k @ x - f).max() / np.abs(f).max()
    print(f"{k.shape[0]} unknowns, inertia {tuple(factor.inertia)}, residual {error:.1e}")
    assert factor.inertia == (velocities, pressures, 0) and error < 1e-12
    weak = pymetapack.ildl(k, drop_tolerance=1e-3, level=2)
    y, info = pymetapack.minres(k, f, M=weak, rtol=1e-8, maxiter=5000)
    print(f"MINRES with |D| of an incomplete factor: {info.iterations} iterations")
    assert info == 0 and np.linalg.norm(y - x) <= 1e-4 * np.linalg.norm(x)
    return factor


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 4)
