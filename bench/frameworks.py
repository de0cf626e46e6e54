#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frameworks that solve by METAPACK beside what they take by default: the recipes of bench/clients/frameworks.py.

  bench/frameworks.py [--build build] [--python PYTHON] [--system PYTHON] [--only NAME,...] [--table]

--python has the packages of PyPI (make check-clients makes one in build/clients/frameworks), --system Debian's (python3-dolfinx,
python3-sfepy).  Each recipe runs in processes of its own, the two solvers in turn; seconds are of the processor, one thread, the
best of several.  Skipped: what is not installed.  Exit code 1 if METAPACK fails, or the two do not agree; --table is Markdown."""
import argparse
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RECIPE = os.path.join(HERE, "clients", "frameworks.py")
# module, whose Python, what METAPACK stands beside, and how far two optima may differ
FRAMEWORKS = {
    "skfem": ("skfem", "python", "SuperLU, by SciPy", 1e-8),
    "sfepy": ("sfepy", "system", "SuperLU, by SciPy", 1e-8),
    "dolfinx": ("dolfinx", "system", "MUMPS, by PETSc", 1e-8),
    "ngsolve": ("ngsolve", "python", "its sparse Cholesky", 1e-6),
    "mfem": ("mfem", "python", "MINRES, Gauss-Seidel", 1e-6),
    "dealii": (None, None, "UMFPACK", 1e-8),
    "pandapower": ("pandapower", "python", "SuperLU, by SciPy", 1e-6),
    "do_mpc": ("do_mpc", "python", "MUMPS in Ipopt", 1e-4),
    "aerosandbox": ("aerosandbox", "python", "MUMPS in Ipopt", 1e-4),
    "opty": ("opty", "python", "MUMPS in Ipopt", 1e-4),
    "pyomo": ("pyomo", "python", "MUMPS in Ipopt", 1e-4),
}
SOLVERS = ("default", "metapack")


def environment(build):
    threads = {k: "1" for k in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "DEAL_II_NUM_THREADS")}
    library = os.path.join(build, "libmetapack.so.0")
    return {**os.environ, **threads, "METAPACK_LIBRARY": library, "PYTHONPATH": os.path.join(build, "python"),
            "PKG_CONFIG_PATH": build}


def one(name, args, env):
    """Rows of default and metapack, or a text: why there are none."""
    if name == "dealii":
        program = os.path.join(args.build, "clients", "dealii", "stokes")
        if not os.path.exists(program):
            return "not built: cmake -S bench/clients/dealii -B build/clients/dealii, make"
        told = subprocess.run([program, "6"], env=env, capture_output=True, text=True)
        if told.returncode:
            raise RuntimeError(told.stdout + told.stderr)
        row = json.loads(told.stdout)
        return [{"seconds": row["umfpack"], "value": row["beside"], "n": row["n"]},
                {"seconds": row["metapack"], "value": row["value"], "n": row["n"]}]
    module, python = FRAMEWORKS[name][0], getattr(args, FRAMEWORKS[name][1])
    if subprocess.run([python, "-c", f"import {module}"], env=env, capture_output=True).returncode:
        return f"{module} is not installed"
    if name == "pyomo" and subprocess.run([python, "-c", "from pyomo.contrib.pynumero.asl import AmplInterface as A; assert A.available()"],
                                          env=env, capture_output=True).returncode:  # fmt: skip
        return "PyNumero's library of AMPL's is not installed (pyomo build-extensions)"
    rows = [None, None]
    for _ in range(args.repeat):
        for k, solver in enumerate(SOLVERS):
            told = subprocess.run([python, RECIPE, name, solver, "--ipopt", os.path.join(args.build, "ipopt", "libhsl.so"), "--petsc",
                                   os.path.join(args.build, "petsc", "real", "libmetapack_petsc.so")],
                                  env=env, capture_output=True, text=True)  # fmt: skip
            if told.returncode:
                raise RuntimeError(f"{solver}: {told.stderr[-2000:]}")
            row = json.loads(told.stdout.splitlines()[-1])
            if rows[k] is None or row["seconds"] < rows[k]["seconds"]:
                rows[k] = row
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--system", default="/usr/bin/python3")
    parser.add_argument("--only", default=",".join(FRAMEWORKS))
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    args.build = os.path.abspath(args.build)
    env = environment(args.build)
    failed = 0
    if args.table:
        print("| framework | unknowns | beside | its default, s | METAPACK, s | of the default |\n|---|---:|---|---:|---:|---:|")
    for name in args.only.split(","):
        try:
            rows = one(name, args, env)
        except (RuntimeError, ValueError) as error:
            print(f"FAIL  {name}: {error}", flush=True)
            failed += 1
            continue
        if isinstance(rows, str):
            print(f"skip  {name}: {rows}", file=sys.stderr if args.table else sys.stdout, flush=True)
            continue
        old, new = rows
        same = abs(old["value"] - new["value"]) <= FRAMEWORKS[name][3] * abs(old["value"])
        failed += not same
        share = new["seconds"] / old["seconds"]
        if args.table:
            print(f"| {name} | {new['n']} | {FRAMEWORKS[name][2]} | {old['seconds']:.3g} | {new['seconds']:.3g} | {share:.2f} |", flush=True)
        else:
            print(f"{'ok  ' if same else 'FAIL'}  {name}: {new['seconds']:.3g} s, {FRAMEWORKS[name][2]} {old['seconds']:.3g} s, "
                  f"{new['value']:.10g} and {old['value']:.10g}", flush=True)  # fmt: skip
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
