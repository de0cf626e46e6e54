# SPDX-License-Identifier: BSD-3-Clause
"""Stokes flow in a driven cavity with NGSolve (P3-P2): the matrix as NGSolve makes it.

    python ngsolve_stokes.py [MESH SIZE]

NGSolve sums each triangle of the matrix by itself, so mirror images differ by rounding: nothing
has to be said about that.  One pressure is fixed; the inertia says that the discretisation is stable.
"""

import sys

import numpy as np
import scipy.sparse as sp
from ngsolve import H1, BilinearForm, Grad, GridFunction, InnerProduct, Mesh, VectorH1
from ngsolve import CoefficientFunction, div, dx, unit_square

import pymetapack


def cavity(size):
    """(K, f, number of velocities, number of pressures) of what is left to solve."""
    mesh = Mesh(unit_square.GenerateMesh(maxh=size))
    velocity = VectorH1(mesh, order=3, dirichlet=".*")
    space = velocity * H1(mesh, order=2)
    (u, p), (v, q) = space.TnT()
    form = BilinearForm(space)
    form += (InnerProduct(Grad(u), Grad(v)) - div(u) * q - div(v) * p) * dx
    form.Assemble()
    rows, columns, values = form.mat.COO()
    k = sp.csr_matrix((values, (rows, columns)), shape=(space.ndof, space.ndof))
    flow = GridFunction(space)
    flow.components[0].Set(CoefficientFunction((1, 0)), definedon=mesh.Boundaries("top"))
    x = flow.vec.FV().NumPy()
    free = np.array([bool(one) for one in space.FreeDofs()])
    free[velocity.ndof] = False  # the first pressure
    return k[free][:, free], -(k @ x)[free], free[: velocity.ndof].sum(), free[velocity.ndof :].sum()


def main(size):
    k, f, velocities, pressures = cavity(size)
    print(f"{k.shape[0]} unknowns, mirror images differ by {abs(k - k.T).max():.1e}")
    factor = pymetapack.ldl(k)
    x = factor.solve(f)
    error = np.abs(k @ x - f).max() / np.abs(f).max()
    print(f"inertia {tuple(factor.inertia)}, residual {error:.1e}")
    assert factor.inertia == (velocities, pressures, 0) and error < 1e-12


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 0.05)
