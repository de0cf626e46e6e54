# SPDX-License-Identifier: BSD-3-Clause
"""One framework's recipe, in a process of its own: frameworks.py NAME default|metapack [--size N] [--ipopt LIBRARY]
[--petsc LIBRARY].  Each solves the same problem by what the framework takes by default, or by METAPACK; prints JSON with
processor seconds of the solving part, a number that both must agree on, and the number of unknowns.

Called by bench/frameworks.py; docs/guide/frameworks.md has what is typed.
"""
import argparse
import contextlib
import json
import os
import time

clock = time.process_time
args = argparse.Namespace()


def best(call, times=3):
    """The least processor time of some calls, and what the last of them returned."""
    least, result = float("inf"), None
    for _ in range(times):
        begin = clock()
        result = call()
        least = min(least, clock() - begin)
    return least, result


def scipy_use():
    """SciPy's solvers, or METAPACK in their place."""
    if args.solver == "default":
        return contextlib.nullcontext()
    import pymetapack
    return pymetapack.use_in_scipy()


def hsl(prefix=""):
    """Options of Ipopt, with a prefix."""
    if args.solver == "default":
        return {}
    return {prefix + "linear_solver": "ma57", prefix + "hsllib": args.ipopt}


def skfem():
    """scikit-fem: Stokes in a box, Taylor-Hood, lid driven: solve(*condense(...))."""
    import numpy as np
    import skfem
    from skfem.models.general import divergence
    from skfem.models.poisson import vector_laplace
    side = args.size or 40
    mesh = skfem.MeshTri.init_tensor(np.linspace(0, 1, side), np.linspace(0, 1, side))
    element = {"u": skfem.ElementVector(skfem.ElementTriP2()), "p": skfem.ElementTriP1()}
    basis = {k: skfem.Basis(mesh, e, intorder=3) for k, e in element.items()}
    A = skfem.asm(vector_laplace, basis["u"])
    B = -skfem.asm(divergence, basis["u"], basis["p"])
    K = skfem.bmat([[A, B.T], [B, None]], "csr")
    lid = basis["u"].get_dofs(lambda x: x[1] == 1).all(["u^1"])
    x = np.zeros(K.shape[0])
    x[lid] = 1
    fixed = np.append(basis["u"].get_dofs().all(), basis["u"].N)  # one pressure
    system = skfem.condense(K, x=x, D=fixed)
    with scipy_use():
        seconds, x = best(lambda: skfem.solve(*system))
    return seconds, float(x @ (K @ x)), K.shape[0] - len(fixed)


def sfepy():
    """SfePy: elasticity of a block of bricks, its solver ls.scipy_direct."""
    import numpy as np
    from sfepy.base.base import IndexedStruct
    from sfepy.discrete import Equation, Equations, FieldVariable, Integral, Material, Problem
    from sfepy.discrete.conditions import Conditions, EssentialBC
    from sfepy.discrete.fem import FEDomain, Field
    from sfepy.mechanics.matcoefs import stiffness_from_lame
    from sfepy.mesh.mesh_generators import gen_block_mesh
    from sfepy.base.base import output
    from sfepy.solvers.ls import ScipyDirect
    from sfepy.solvers.nls import Newton
    from sfepy.terms import Term
    output.set_output(quiet=True)
    side = args.size or 13
    domain = FEDomain("block", gen_block_mesh([1, 1, 1], [side] * 3, [0.5] * 3, verbose=False))
    omega = domain.create_region("Omega", "all")
    low = domain.create_region("Low", "vertices in x < 0.001", "facet")
    high = domain.create_region("High", "vertices in x > 0.999", "facet")
    field = Field.from_args("f", np.float64, "vector", omega, approx_order=1)
    u, v = FieldVariable("u", "unknown", field), FieldVariable("v", "test", field, primary_var_name="u")
    m = Material("m", D=stiffness_from_lame(dim=3, lam=10, mu=1))
    equation = Equation("e", Term.new("dw_lin_elastic(m.D, v, u)", Integral("i", order=2), omega, m=m, v=v, u=u))
    problem = Problem("p", equations=Equations([equation]))
    problem.set_bcs(ebcs=Conditions([EssentialBC("low", low, {"u.all": 0}), EssentialBC("high", high, {"u.0": 0.1, "u.[1,2]": 0})]))
    spent = []

    class Timed(ScipyDirect):
        name = "ls.timed"

        def __call__(self, *a, **k):
            begin = clock()
            x = super().__call__(*a, **k)
            spent.append(clock() - begin)
            return x

    problem.set_solver(Newton({}, lin_solver=Timed({}), status=IndexedStruct()))
    with scipy_use():
        for _ in range(3):
            state = problem.solve(save_results=False)
    values = state() if callable(state) else state.get_state()
    return min(spent), float(np.linalg.norm(values)), len(values)


def ngsolve():
    """NGSolve: Helmholtz's equation in a cube, a.mat.Inverse beside pymetapack.ldl of the same matrix."""
    import netgen.csg
    import ngsolve as ng
    import numpy as np
    import scipy.sparse as sp
    ng.SetNumThreads(1)
    mesh = ng.Mesh(netgen.csg.unit_cube.GenerateMesh(maxh=0.1 if not args.size else 1 / args.size))
    fes = ng.H1(mesh, order=3, dirichlet=".*")
    u, v = fes.TnT()
    a = ng.BilinearForm(ng.grad(u) * ng.grad(v) * ng.dx - 200 * u * v * ng.dx).Assemble()
    f = ng.LinearForm(v * ng.dx).Assemble()
    free = np.flatnonzero(list(fes.FreeDofs()))
    x = ng.GridFunction(fes)
    if args.solver == "default":
        def call():
            x.vec.data = a.mat.Inverse(fes.FreeDofs()) * f.vec
    else:
        import pymetapack

        def call():
            values, columns, rows = a.mat.CSR()
            A = sp.csr_matrix((values, columns, rows))[free][:, free]
            x.vec.FV().NumPy()[free] = pymetapack.ldl(A).solve(f.vec.FV().NumPy()[free])
    seconds, _ = best(call)
    return seconds, float(ng.Integrate(x * x, mesh)), len(free)


def mfem():
    """MFEM: Darcy's equations by Raviart-Thomas elements (its example 5): MINRES with its preconditioner, beside a factorization."""
    import mfem.ser as mfem
    import numpy as np
    import scipy.sparse as sp
    side = args.size or 48
    mesh = mfem.Mesh.MakeCartesian2D(side, side, mfem.Element.QUADRILATERAL)
    hdiv, l2 = mfem.RT_FECollection(1, 2), mfem.L2_FECollection(1, 2)
    R, W = mfem.FiniteElementSpace(mesh, hdiv), mfem.FiniteElementSpace(mesh, l2)
    M, B = mfem.BilinearForm(R), mfem.MixedBilinearForm(R, W)
    M.AddDomainIntegrator(mfem.VectorFEMassIntegrator(mfem.ConstantCoefficient(1.0)))
    B.AddDomainIntegrator(mfem.VectorFEDivergenceIntegrator())
    for form in (M, B):
        form.Assemble()
        form.Finalize()

    def matrix(A):
        return sp.csr_matrix((A.GetDataArray().copy(), A.GetJArray().copy(), A.GetIArray().copy()), shape=(A.Height(), A.Width()))

    m, b = matrix(M.SpMat()), -matrix(B.SpMat())
    f, g = np.zeros(m.shape[0]), matrix(B.SpMat()) @ np.linspace(0, 1, m.shape[0])  # in the range of div
    K = sp.bmat([[m, b.T], [b, None]], format="csc")
    right = np.r_[f, g]
    if args.solver == "default":
        # MINRES with diag(M) and the Schur complement by its diagonal, which example 5 smooths by Gauss-Seidel
        from scipy.sparse.linalg import LinearOperator, minres
        d = m.diagonal()
        schur = mfem.SparseMatrix(sp.csr_matrix(b @ sp.diags(1 / d) @ b.T))
        smooth = mfem.GSSmoother(schur)

        def apply(r):
            z, y = mfem.Vector(len(g)), mfem.Vector(np.ascontiguousarray(r[len(f):]))
            z.Assign(0.0)
            smooth.Mult(y, z)
            return np.r_[r[:len(f)] / d, z.GetDataArray().copy()]

        P = LinearOperator(K.shape, apply, dtype=float)
        seconds, (x, _) = best(lambda: minres(K, right, M=P, rtol=1e-9, maxiter=20000), 1)
    else:
        import pymetapack
        seconds, x = best(lambda: pymetapack.ldl(K).solve(right))
    assert np.linalg.norm(K @ x - right) <= 1e-5 * np.linalg.norm(right)
    return seconds, float(x[:len(f)] @ (m @ x[:len(f)])), K.shape[0]


def dolfinx():
    """FEniCSx: Stokes by Taylor-Hood elements, -pc_type lu, MUMPS's or METAPACK's."""
    import petsc4py
    petsc4py.init(["x"] + (["-dll_append", args.petsc] if args.solver == "metapack" else []))
    import dolfinx.fem
    import dolfinx.mesh
    import numpy as np
    import ufl
    from mpi4py import MPI
    from petsc4py import PETSc
    side = args.size or 48
    mesh = dolfinx.mesh.create_unit_square(MPI.COMM_WORLD, side, side)
    element = ufl.MixedElement(ufl.VectorElement("CG", mesh.ufl_cell(), 2), ufl.FiniteElement("CG", mesh.ufl_cell(), 1))
    W = dolfinx.fem.FunctionSpace(mesh, element)
    (u, p), (v, q) = ufl.TrialFunctions(W), ufl.TestFunctions(W)
    form = dolfinx.fem.form((ufl.inner(ufl.grad(u), ufl.grad(v)) - p * ufl.div(v) - q * ufl.div(u)) * ufl.dx)
    x = ufl.SpatialCoordinate(mesh)
    load = dolfinx.fem.form(ufl.inner(ufl.as_vector((x[1], -x[0])), v) * ufl.dx)
    V, _ = W.sub(0).collapse()
    wall = dolfinx.fem.locate_dofs_geometrical((W.sub(0), V), lambda x: np.isclose(x[0], 0) | np.isclose(x[1], 0) | np.isclose(x[1], 1))
    bc = dolfinx.fem.dirichletbc(dolfinx.fem.Function(V), wall, W.sub(0))  # the right side is open
    A = dolfinx.fem.petsc.assemble_matrix(form, bcs=[bc])
    A.assemble()
    b = dolfinx.fem.petsc.assemble_vector(load)
    dolfinx.fem.petsc.apply_lifting(b, [form], [[bc]])
    dolfinx.fem.petsc.set_bc(b, [bc])

    def call():
        ksp = PETSc.KSP().create()
        ksp.setOperators(A)
        ksp.setType("preonly")
        ksp.getPC().setType("lu")
        ksp.getPC().setFactorSolverType("mumps" if args.solver == "default" else "metapack")
        x = b.duplicate()
        ksp.solve(b, x)
        return x

    seconds, x = best(call)
    assert (A * x - b).norm() <= 1e-9 * b.norm()
    return seconds, x.norm(), A.size[0]


def pandapower():
    """pandapower: optimal power flow of 118 buses, whose interior-point method calls SciPy's spsolve."""
    import logging
    import pandapower
    import pandapower.networks
    from pandapower.pypower import pips
    logging.getLogger("pandapower").setLevel(logging.ERROR)
    net = pandapower.networks.case118()
    spent = [0.0]
    plain = pips.spsolve

    factor = [None]

    def metapack(a, b):
        try:
            factor[0].refactor(a)
        except (AttributeError, pymetapack.PatternError):
            factor[0] = pymetapack.ldl(a)
        return factor[0].solve(b)

    def solve(a, b):
        begin = clock()
        x = (metapack if args.solver == "metapack" else plain)(a, b)
        spent[0] += clock() - begin
        return x

    if args.solver == "metapack":
        import pymetapack
    pips.spsolve = solve
    least = float("inf")
    for _ in range(3):
        spent[0] = 0.0
        pandapower.runopp(net)
        least = min(least, spent[0])
    return least, float(net.res_cost), 2 * len(net.bus)


def do_mpc():
    """do-mpc: a chain of masses, model predictive control, whole steps of Ipopt."""
    import casadi
    import do_mpc
    import numpy as np
    n = 6
    model = do_mpc.model.Model("continuous")
    x = model.set_variable("_x", "x", shape=(n, 1))
    v = model.set_variable("_x", "v", shape=(n, 1))
    u = model.set_variable("_u", "u")
    model.set_rhs("x", v)
    force = [0.1 * u if i == 0 else 0 for i in range(n)]
    pull = [4 * ((x[i + 1] if i + 1 < n else 0) - 2 * x[i] + (x[i - 1] if i else 0)) - 0.1 * x[i] ** 3 for i in range(n)]
    model.set_rhs("v", casadi.vertcat(*[a + b for a, b in zip(pull, force)]))
    model.setup()
    mpc = do_mpc.controller.MPC(model)
    mpc.settings.n_horizon = args.size or 20
    mpc.settings.t_step = 0.2
    mpc.settings.store_full_solution = False
    mpc.settings.nlpsol_opts = {"ipopt.print_level": 0, "print_time": 0, **hsl("ipopt.")}
    mpc.set_objective(mterm=casadi.sumsqr(x), lterm=casadi.sumsqr(x) + 0.1 * casadi.sumsqr(v))
    mpc.set_rterm(u=0.01)
    mpc.bounds["lower", "_u", "u"], mpc.bounds["upper", "_u", "u"] = -5, 5
    mpc.setup()
    mpc.x0 = np.r_[np.linspace(1, 0, n), np.zeros(n)]
    mpc.set_initial_guess()
    state = np.r_[np.linspace(1, 0, n), np.zeros(n)].reshape(-1, 1)
    total, seconds = 0.0, 0.0
    for k in range(4):
        begin = clock()
        total += float(mpc.make_step(state * (1 + 0.05 * k))[0, 0])
        seconds += clock() - begin
        assert mpc.solver_stats["success"], mpc.solver_stats["return_status"]
    return seconds, total, int(mpc.opt_x.size)


def aerosandbox():
    """AeroSandbox: the stiffest beam of a given mass, opti.solve()."""
    import aerosandbox as asb
    import aerosandbox.numpy as np
    n = args.size or 600

    def call():
        opti = asb.Opti()
        x = np.linspace(0, 1, n)
        width = opti.variable(init_guess=np.ones(n), lower_bound=0.05, upper_bound=4)
        w = opti.variable(init_guess=np.zeros(n))
        slope = opti.derivative_of(w, with_respect_to=x, derivative_init_guess=np.zeros(n))
        moment = 0.5 * (1 - x) ** 2
        opti.constrain_derivative(moment / width ** 3, slope, with_respect_to=x)
        opti.subject_to([w[0] == 0, slope[0] == 0, np.mean(width) <= 1])
        opti.minimize(w[-1])
        return float(opti.solve(verbose=False, options={"ipopt.print_level": 0, **hsl("ipopt.")})(w[-1]))

    seconds, value = best(call, 2)
    return seconds, value, 3 * n


def opty():
    """opty: swing a pendulum up by direct collocation, Problem.solve()."""
    import numpy as np
    import sympy as sm
    import sympy.physics.mechanics as me
    from opty import Problem
    t = me.dynamicsymbols._t
    theta, omega, torque = me.dynamicsymbols("theta omega torque")
    nodes = args.size or 600
    step = 10.0 / (nodes - 1)
    equations = sm.Matrix([theta.diff(t) - omega, omega.diff(t) + 9.81 * sm.sin(theta) - torque])

    def objective(free):
        return step * float(np.sum(free[2 * nodes:] ** 2))

    def gradient(free):
        g = np.zeros_like(free)
        g[2 * nodes:] = 2 * step * free[2 * nodes:]
        return g

    problem = Problem(objective, gradient, equations, (theta, omega), nodes, step, time_symbol=t,
                      instance_constraints=(theta.func(0.0), theta.func(10.0) - np.pi, omega.func(0.0), omega.func(10.0)),
                      bounds={torque: (-6, 6)}, backend="numpy")
    problem.add_option("print_level", 0)
    for key, value in hsl().items():
        problem.add_option(key, value)
    begin = clock()
    _, info = problem.solve(np.linspace(0, 1, 3 * nodes))
    seconds = clock() - begin
    assert info["status"] in (0, 1), info["status_msg"]
    return seconds, float(info["obj_val"]), 3 * nodes


def pyomo():
    """Pyomo: heating of a rod by finite differences, SolverFactory("cyipopt"); PyNumero's library of AMPL's is needed."""
    import pyomo.environ as pyo
    n = args.size or 60
    m = pyo.ConcreteModel()
    m.y = pyo.Var(range(n), range(n), initialize=0.1)
    m.u = pyo.Var(range(n), bounds=(0, 1), initialize=0.5)
    h = 1 / (n - 1)

    def step(m, k, i):
        if k == 0:
            return m.y[0, i] == 0
        if i == 0:
            return m.y[k, 0] - m.y[k, 1] == h * (m.u[k] - m.y[k, 0] ** 4)
        if i == n - 1:
            return m.y[k, i] == m.y[k, i - 1]
        return (m.y[k, i] - m.y[k - 1, i]) * h == m.y[k, i + 1] - 2 * m.y[k, i] + m.y[k, i - 1]

    m.c = pyo.Constraint(range(n), range(n), rule=step)
    m.o = pyo.Objective(expr=sum((m.y[n - 1, i] - 0.4) ** 2 for i in range(n)) + 1e-4 * sum(m.u[k] ** 2 for k in range(n)))
    solver = pyo.SolverFactory("cyipopt")
    solver.config.options.update(hsl())
    begin = clock()
    told = solver.solve(m, tee=False)
    seconds = clock() - begin
    assert pyo.check_optimal_termination(told)
    return seconds, float(pyo.value(m.o)), n * n + n


def main():
    recipes = {f.__name__: f for f in (skfem, sfepy, ngsolve, mfem, dolfinx, pandapower, do_mpc, aerosandbox, opty, pyomo)}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=recipes)
    parser.add_argument("solver", choices=("default", "metapack"))
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--ipopt", default="")
    parser.add_argument("--petsc", default="")
    parser.parse_args(namespace=args)
    out = os.dup(1)
    os.dup2(2, 1)  # what frameworks print goes elsewhere
    seconds, value, n = recipes[args.name]()
    os.write(out, (json.dumps({"seconds": seconds, "value": value, "n": n}) + "\n").encode())


if __name__ == "__main__":
    main()
