#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solve one problem by one Ipopt with one linear solver; print one JSON object.

  ipopt_run.py PROBLEM --solver mumps|ma27|ma57|ma86|ma97 [--library libhsl.so] [--ipopt libipopt.so.1] [--option key=value ...]

Without --ipopt: the Ipopt inside CasADi (3.14, option hsllib). With it: that shared library through its C interface
(Debian's 3.11), CasADi only evaluates; libhsl.so must then be on LD_LIBRARY_PATH."""
import argparse, ctypes, json, os, re, sys, tempfile, time

import casadi as ca
import numpy as np

from problems import PROBLEMS

OPTIONS = {"max_iter": 500, "max_cpu_time": 120.0}


def text_of(options):
    return {k: str(v) for k, v in options.items()}


def by_casadi(parts, options, log):
    x, f, g, x0, lbx, ubx, lbg, ubg = parts
    given = {f"ipopt.{k}": v for k, v in options.items()}
    given.update({"print_time": False, "ipopt.print_level": 0, "ipopt.sb": "yes", "ipopt.output_file": log,
                  "ipopt.file_print_level": 5, "ipopt.print_timing_statistics": "yes"})
    solver = ca.nlpsol("solver", "ipopt", {"x": x, "f": f, "g": g}, given)
    result = solver(x0=x0, lbx=lbx, ubx=ubx, lbg=lbg, ubg=ubg)
    return solver.stats()["return_status"], float(result["f"]), np.array(result["x"]).ravel()


STATUS = {0: "Solve_Succeeded", 1: "Solved_To_Acceptable_Level", 2: "Infeasible_Problem_Detected",
          3: "Search_Direction_Becomes_Too_Small", 4: "Diverging_Iterates", 5: "User_Requested_Stop",
          6: "Feasible_Point_Found", -1: "Maximum_Iterations_Exceeded", -2: "Restoration_Failed",
          -3: "Error_In_Step_Computation", -4: "Maximum_CpuTime_Exceeded", -10: "Not_Enough_Degrees_Of_Freedom",
          -11: "Invalid_Problem_Definition", -12: "Invalid_Option", -13: "Invalid_Number_Detected",
          -100: "Unrecoverable_Exception", -101: "NonIpopt_Exception_Thrown", -102: "Insufficient_Memory",
          -199: "Internal_Error"}


def by_library(parts, options, log, path):
    x, f, g, x0, lbx, ubx, lbg, ubg = parts
    n, m = x.numel(), g.numel()
    sigma, lam = type(x).sym("sigma"), type(x).sym("lam", m)
    grad = ca.gradient(f, x)
    jac = ca.jacobian(g, x) if m else type(x)(0, n)
    hess = ca.tril(ca.hessian(sigma * f + (ca.dot(lam, g) if m else 0), x)[0])
    functions = {"f": ca.Function("objective", [x], [f]), "g": ca.Function("constraints", [x], [g]),
                 "grad": ca.Function("gradient", [x], [ca.densify(grad)]), "jac": ca.Function("jacobian", [x], [jac]),
                 "hess": ca.Function("hessian", [x, sigma, lam], [hess])}
    jrow, jcol = (np.array(v, dtype=np.int32) for v in jac.sparsity().get_triplet())
    hrow, hcol = (np.array(v, dtype=np.int32) for v in hess.sparsity().get_triplet())
    number, index, flag = ctypes.c_double, ctypes.c_int, ctypes.c_int
    vec, ivec = ctypes.POINTER(number), ctypes.POINTER(index)

    def view(pointer, size):
        return np.ctypeslib.as_array(pointer, (size,))

    def values(matrix):
        return np.array(matrix.nonzeros()) if matrix.nnz() else np.zeros(0)

    def finite(v):
        return int(bool(np.all(np.isfinite(v))))

    def eval_f(_, xp, __, out, ___):
        out[0] = float(functions["f"](view(xp, n)))
        return finite(out[0])

    def eval_grad(_, xp, __, out, ___):
        view(out, n)[:] = np.array(functions["grad"](view(xp, n))).ravel()
        return finite(view(out, n))

    def eval_g(_, xp, __, ___, out, ____):
        if m:
            view(out, m)[:] = np.array(ca.densify(functions["g"](view(xp, n)))).ravel()
            return finite(view(out, m))
        return 1

    def eval_jac(_, xp, __, ___, nnz, row, col, out, ____):
        if nnz and not out:
            view(row, nnz)[:], view(col, nnz)[:] = jrow, jcol
        elif nnz:
            view(out, nnz)[:] = values(functions["jac"](view(xp, n)))
        return 1

    def eval_hess(_, xp, __, factor, ___, lp, ____, nnz, row, col, out, _____):
        if nnz and not out:
            view(row, nnz)[:], view(col, nnz)[:] = hrow, hcol
        elif nnz:
            view(out, nnz)[:] = values(functions["hess"](view(xp, n), factor, view(lp, m) if m else []))
        return 1

    lib = ctypes.CDLL(path)
    data = ctypes.c_void_p
    types = {"f": ctypes.CFUNCTYPE(flag, index, vec, flag, vec, data),
             "grad": ctypes.CFUNCTYPE(flag, index, vec, flag, vec, data),
             "g": ctypes.CFUNCTYPE(flag, index, vec, flag, index, vec, data),
             "jac": ctypes.CFUNCTYPE(flag, index, vec, flag, index, index, ivec, ivec, vec, data),
             "hess": ctypes.CFUNCTYPE(flag, index, vec, flag, number, index, vec, flag, index, ivec, ivec, vec, data)}
    calls = {k: types[k](v) for k, v in
             {"f": eval_f, "grad": eval_grad, "g": eval_g, "jac": eval_jac, "hess": eval_hess}.items()}

    def array(v):
        v = np.clip(np.asarray(v, float), -1e20, 1e20)
        return np.ascontiguousarray(v)

    bounds = [array(v) for v in (lbx, ubx, lbg, ubg)]
    at = [v.ctypes.data_as(vec) for v in bounds]
    lib.CreateIpoptProblem.restype = ctypes.c_void_p
    lib.CreateIpoptProblem.argtypes = [index, vec, vec, index, vec, vec, index, index, index] + \
        [types[k] for k in ("f", "g", "grad", "jac", "hess")]
    nlp = lib.CreateIpoptProblem(n, at[0], at[1], m, at[2], at[3], len(jrow), len(hrow), 0,
                                 *[calls[k] for k in ("f", "g", "grad", "jac", "hess")])
    options = dict(options, print_level=0, sb="yes", print_timing_statistics="yes")
    for key, value in options.items():
        name = key.encode()
        if isinstance(value, str):
            good = lib.AddIpoptStrOption(ctypes.c_void_p(nlp), name, value.encode())
        elif isinstance(value, float):
            good = lib.AddIpoptNumOption(ctypes.c_void_p(nlp), name, number(value))
        else:
            good = lib.AddIpoptIntOption(ctypes.c_void_p(nlp), name, index(value))
        if not good:
            raise SystemExit(f"Ipopt does not take {key} = {value}")
    lib.OpenIpoptOutputFile(ctypes.c_void_p(nlp), log.encode(), 5)
    point, objective = array(x0), (number * 1)()
    lib.IpoptSolve.argtypes = [ctypes.c_void_p, vec, vec, vec, vec, vec, vec, ctypes.c_void_p]
    status = lib.IpoptSolve(nlp, point.ctypes.data_as(vec), None, objective, None, None, None, None)
    lib.FreeIpoptProblem(ctypes.c_void_p(nlp))
    return STATUS.get(status, str(status)), objective[0], point


def timing(text, name):
    """(processor seconds, wall seconds) of a line of Ipopt's timing statistics."""
    found = re.search(rf"^ *{name}\.*: *([\d.]+) \(sys: *([\d.]+) wall: *([\d.]+)\)", text, re.M)
    return (float(found[1]) + float(found[2]), float(found[3])) if found else (0.0, 0.0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("problem")
    parser.add_argument("--solver", default="ma97")
    parser.add_argument("--library")
    parser.add_argument("--ipopt")
    parser.add_argument("--option", action="append", default=[])
    parser.add_argument("--log", help="keep Ipopt's output here")
    args = parser.parse_args()
    parts = PROBLEMS[args.problem][1]()
    options = dict(OPTIONS, linear_solver=args.solver)
    if args.library and not args.ipopt and args.solver != "mumps":
        options["hsllib"] = args.library
    for pair in args.option:
        key, value = pair.split("=", 1)
        for kind in (int, float, str):
            try:
                options[key] = kind(value)
                break
            except ValueError:
                pass
    with tempfile.TemporaryDirectory() as folder:
        log = args.log or os.path.join(folder, "log")
        start = time.monotonic()
        if args.ipopt:
            status, f, x = by_library(parts, options, log, args.ipopt)
        else:
            status, f, x = by_casadi(parts, options, log)
        wall = time.monotonic() - start
        text = open(log, encoding="utf-8", errors="replace").read()
    loaded = ""
    if args.library and args.solver != "mumps":
        real = os.path.realpath(args.library)
        loaded = real if real in open("/proc/self/maps").read() else "NOT LOADED"
    count = re.search(r"Number of Iterations\.*: *(\d+)", text)
    print(json.dumps({
        "problem": args.problem, "solver": args.solver, "n": parts[0].numel(), "m": parts[2].numel(),
        "status": status, "objective": f, "iterations": int(count[1]) if count else -1, "wall_s": wall,
        "linear_s": timing(text, "PDSystemSolverSolveOnce")[0],
        "linear_wall_s": timing(text, "PDSystemSolverSolveOnce")[1],
        "loaded": loaded, "version": (re.findall(r"Ipopt version ([\d.]+)", text) or [""])[0]}))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main()
