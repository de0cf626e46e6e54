# SPDX-License-Identifier: BSD-3-Clause
"""A sound wave in a square room with scikit-fem (P2), one absorbing wall: complex symmetric.

    python helmholtz.py [REFINEMENTS [WAVENUMBER]]

Without absorption the matrix is real and indefinite, and its inertia counts the room's resonances
below the wave number (Sylvester): the number from the factor is held against the exact one.
"""

import sys

import numpy as np
from skfem import Basis, BilinearForm, ElementTriP2, FacetBasis, LinearForm, MeshTri, asm
from skfem.helpers import dot, grad

import pymetapack


@BilinearForm
def stiffness(u, v, w):
    return dot(grad(u), grad(v))


@BilinearForm
def mass(u, v, w):
    return u * v


@LinearForm
def source(v, w):
    return np.exp(-200 * ((w.x[0] - 0.3) ** 2 + (w.x[1] - 0.4) ** 2)) * v


def room(refinements):
    mesh = MeshTri.init_tensor(*2 * [np.linspace(0, 1, 2**refinements + 1)])
    basis = Basis(mesh, ElementTriP2())
    wall = FacetBasis(mesh, ElementTriP2(), facets=mesh.facets_satisfying(lambda x: x[0] == 1.0))
    return asm(stiffness, basis), asm(mass, basis), asm(mass, wall), asm(source, basis)


def main(refinements, k):
    a, m, wall, f = room(refinements)
    closed = pymetapack.ldl(a - k**2 * m)
    i, j = np.mgrid[0:50, 0:50]
    exact = int((np.pi**2 * (i**2 + j**2) < k**2).sum())  # Neumann: cos(i pi x) cos(j pi y)
    print(f"{a.shape[0]} unknowns: {closed.nneg} resonances below k = {k:g}, exactly {exact}")
    assert closed.nneg == exact
    system = (a - k**2 * m).astype(complex) - 1j * k * wall
    factor = pymetapack.ldl(system)
    x = factor.solve(f.astype(complex))
    error = np.abs(system @ x - f).max() / np.abs(f).max()
    print(f"with the absorbing wall: residual {error:.1e}")
    assert error < 1e-11
    y, info = pymetapack.sqmr(system, f, M=pymetapack.ildl(system, level=3), rtol=1e-8)
    print(f"SQMR with an incomplete factor: {info.iterations} iterations")
    assert info == 0 and np.linalg.norm(y - x) <= 1e-5 * np.linalg.norm(x)
    return x


if __name__ == "__main__":
    arguments = sys.argv[1:] + ["5", "20"][len(sys.argv) - 1 :]
    main(int(arguments[0]), float(arguments[1]))
