#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""METAPACK inside PETSc, beside MUMPS inside PETSc: real KKT systems and examples/petsc/saddle.c on 1, 2 and 4 ranks.
Rows are kept in <build>/bench/petsc.jsonl; the section "PETSc" of bench/results/clients.md is written from them.

    bench/petsc.py [--part whole|strong|weak|report] [--build build] [--report bench/results/clients.md]"""
import argparse
import datetime
import json
import os
import re
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
CORES = len(os.sched_getaffinity(0))
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_plm_rsh_agent": "",
    "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_btl": "self,vader",
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_mpi_yield_when_idle": "1", "OPENBLAS_NUM_THREADS": "1"}

WHOLE = "-ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type "
ASM = "-ksp_type gmres -ksp_pc_side right -pc_type asm -sub_pc_type cholesky -sub_pc_factor_mat_solver_type "
# name in the tables: options, and whether the inertia is asked for
WAYS = {
    "asm, METAPACK": ASM + "metapack",
    "asm, MUMPS": ASM + "mumps",
    "bjacobi, METAPACK icc, sqmr": "-ksp_type sqmr -pc_type bjacobi -sub_pc_type icc -sub_pc_factor_mat_solver_type "
                                   "metapack -sub_mat_metapack_level 4 -sub_mat_metapack_fill_factor 0 -sub_mat_metapack_drop_tolerance 1e-3",
    "redundant, METAPACK": "-ksp_type preonly -pc_type redundant -redundant_pc_type cholesky "
                           "-redundant_pc_factor_mat_solver_type metapack",
    "MUMPS over all ranks": WHOLE + "mumps -mat_mumps_icntl_24 1",
}
STRONG = {1: 128, 2: 128, 4: 128}
WEAK = {1: 64, 2: 91, 4: 128}
LINE = re.compile(r"unknowns=\d+ ranks=\d+ .*reason=\w+")
INERTIA = re.compile(r"inertia: (\d+) positive, (\d+) negative, (\d+) zero")


def run(build, ranks, threads, options):
    """One solve; a row of numbers, or one that says how it failed."""
    command = [os.path.join(build, "petsc_saddle_real")] + options.split()
    if ranks > 1:
        command = ["mpiexec", "-n", str(ranks)] + command
    plugin = os.path.join(os.path.abspath(build), "petsc", "real", "libmetapack_petsc.so")
    environment = dict(os.environ, **ENVIRONMENT, OMP_NUM_THREADS=str(threads), PETSC_OPTIONS="-dll_append " + plugin)
    try:
        text = subprocess.run(command, env=environment, capture_output=True, timeout=600).stdout.decode(errors="replace")
    except subprocess.TimeoutExpired:
        return {"reason": "no answer in 600 s"}
    found, inertia = LINE.search(text), INERTIA.search(text)
    if not found:
        return {"reason": "no answer"}
    words = dict(word.split("=") for word in found[0].split())
    row = {name: float(value) for name, value in words.items() if name != "reason"}
    row["reason"] = words["reason"]
    if inertia:
        row["inertia"] = [int(n) for n in inertia.groups()]
    return row


def best(build, repeat, ranks, threads, options):
    """The row with the shortest times of `repeat` runs; others use the machine, too."""
    rows = [run(build, ranks, threads, options) for _ in range(repeat)]
    wrong = next((row for row in rows if "setup_s" not in row), None)
    return wrong or dict(rows[0], **{name: min(row[name] for row in rows) for name in rows[0] if name.endswith("_s")})


def matrices(folder):
    """Real symmetric matrices that ship, and the larger ones of METAPACK_MATRICES where they are."""
    for top, _, names in sorted(os.walk(folder)):
        for name in sorted(names):
            if name.endswith(".mtx.xz") and not name.endswith("_b.mtx.xz"):
                yield os.path.relpath(os.path.join(top, name), folder)[:-len(".mtx.xz")], os.path.join(top, name)


def whole(build, repeat, keep, only):
    os.makedirs(os.path.join(build, "bench"), exist_ok=True)
    file = os.path.join(build, "bench", "matrix.petsc")
    for name, path in matrices(os.environ.get("METAPACK_MATRICES", os.path.join(ROOT, "data"))):
        if only and not re.search(only, name):
            continue
        if subprocess.run([sys.executable, os.path.join(HERE, "petsc_matrix.py"), path, file],
                          stderr=subprocess.DEVNULL).returncode:
            continue
        for solver in "metapack", "mumps":
            options = f"-f {file} {WHOLE}{solver}" + (" -mat_mumps_icntl_24 1" if solver == "mumps" else
                                                      " -mat_metapack_accept_singular -ksp_view")
            row = best(build, repeat, 1, 1, options)
            keep(dict(row, part="whole", name=name, solver=solver))
    if os.path.exists(file):
        os.remove(file)


def scaling(build, repeat, keep, part, sizes):
    for problem in "stokes", "control":
        for way, options in WAYS.items():
            for ranks, n in sizes.items():
                row = best(build, repeat, ranks, 1, f"-problem {problem} -n {n} {options}")
                keep(dict(row, part=part, name=problem, solver=way, ranks=ranks, n=n))


# ---- the report ------------------------------------------------------------------------------------

def cell(row):
    if row is None or "setup_s" not in row:
        return "–" if row is None else row["reason"]
    if not row["reason"].startswith("CONVERGED"):
        return row["reason"]
    return f"{row['setup_s']:.2f} + {row['solve_s']:.2f} s, {row['iterations']:.0f} it."


def scaling_table(rows, part, sizes):
    for problem, what in ("stokes", "Stokes"), ("control", "Optimal control (KKT)"):
        mine = {(row["solver"], row["ranks"]): row for row in rows if row["part"] == part and row["name"] == problem}
        if not mine:
            continue
        unknowns = ", ".join(f"{3 * (n + 1) ** 2:,} on {ranks}".replace(",", " ") for ranks, n in sizes.items())
        if part == "strong":
            unknowns = f"{3 * (sizes[1] + 1) ** 2:,}".replace(",", " ")
        yield f"\n{what}, {unknowns} unknowns:\n"
        heads = [f"{ranks} rank{'s' if ranks > 1 else ''}{' (oversubscribed)' if ranks > CORES else ''}"
                 for ranks in sizes]
        yield "| solver | " + " | ".join(heads) + " | residual, all |"
        yield "|---|" + "---|" * (len(sizes) + 1)
        for way in WAYS:
            row = [mine.get((way, ranks)) for ranks in sizes]
            if not any(row):
                continue
            residuals = [r["residual"] for r in row if r and "residual" in r]
            yield f"| {way} | " + " | ".join(cell(r) for r in row) + f" | {max(residuals, default=float('nan')):.1e} |"


def whole_table(rows):
    yield "| matrix | n | METAPACK: setup + solve, residual | MUMPS | inertia |"
    yield "|---|---|---|---|---|"
    pairs = {}
    for row in rows:
        if row["part"] == "whole":
            pairs.setdefault(row["name"], {})[row["solver"]] = row
    for name, pair in pairs.items():
        texts = []
        for solver in "metapack", "mumps":
            row = pair.get(solver, {"reason": "–"})
            good = "setup_s" in row and row["reason"].startswith("CONVERGED")
            texts.append(f"{row['setup_s']:.3f} + {row['solve_s']:.3f} s, {row['residual']:.0e}" if good
                         else row["reason"])
        ours, theirs = (pair.get(s, {}).get("inertia") for s in ("metapack", "mumps"))
        inertia = "–" if not ours else ", ".join(map(str, ours))
        if ours and theirs and ours != theirs:
            inertia += f" (MUMPS: {', '.join(map(str, theirs))})"
        yield f"| {name} | {pair.get('metapack', {}).get('unknowns', 0):.0f} | {texts[0]} | {texts[1]} | {inertia} |"


def cpu():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        return next((line.split(":")[1].strip() for line in file if line.startswith("model name")), "unknown CPU")


def report(rows, path):
    text = ["## PETSc", "",
            f"Debian's PETSc 3.18.5 and MUMPS 5.5.1, Open MPI 4.1.4; {cpu()}, {CORES} cores, all ranks on this machine;",
            f"{datetime.date.today().isoformat()}, `bench/petsc.py`, the best of two or three runs; load of the machine "
            f"{os.getloadavg()[1]:.0f}, so that", "times compare the solvers and do not say how fast the machine is. Setup is ordering, analysis and factorization; residual",
            "is ‖b − Ax‖₂ / ‖b‖₂. Four ranks on two cores say that it works and how the iterations grow, not how fast four cores are.",
            "Iterative methods stop at 1e-8 (relative, true residual).", "",
            "### Strong scaling", "",
            "`examples/petsc/saddle.c`: one problem on more ranks; with one rank, asm and bjacobi are the whole matrix."]
    text += scaling_table(rows, "strong", STRONG)
    text += ["", "### Weak scaling", "", "The same with about the same number of unknowns on each rank."]
    text += scaling_table(rows, "weak", WEAK)
    text += ["", "### Real systems on one process",
             "", "`-ksp_type preonly -pc_type cholesky`, one thread, b = A·1; METAPACK refines its solution and checks it",
             "(the solve's time has that in it), MUMPS as PETSc sets it up, with the detection of null pivots on, which PETSc asks",
             "for where an inertia is wanted; zero pivots are accepted in both. Inertia: positive, negative, zero.", ""]
    text += whole_table(rows)
    section = "\n".join(text) + "\n"
    old = "# METAPACK in programs people have\n"
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            old = file.read()
    found = re.search(r"^## PETSc\n.*?(?=^## |\Z)", old, re.S | re.M)
    new = old[:found.start()] + section + ("\n" if old[found.end():] else "") + old[found.end():] if found else \
        old.rstrip("\n") + "\n\n" + section
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=["whole", "strong", "weak", "report"], help="only this; default: all")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--report", default=os.path.join(ROOT, "bench", "results", "clients.md"))
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--only", help="expression for names of matrices")
    args = parser.parse_args()
    store = os.path.join(args.build, "bench", "petsc.jsonl")
    os.makedirs(os.path.dirname(store), exist_ok=True)
    rows = {}

    def key(row):
        return row["part"], row["name"], row["solver"], row.get("ranks")

    if os.path.exists(store):
        with open(store, encoding="utf-8") as file:
            for line in file:
                rows[key(json.loads(line))] = json.loads(line)

    def keep(row):
        rows[key(row)] = row
        print(row["part"], row["name"], row["solver"], row.get("ranks", ""), cell(row), flush=True)
        with open(store, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    if args.part in (None, "strong"):
        scaling(args.build, args.repeat, keep, "strong", STRONG)
    if args.part in (None, "weak"):
        scaling(args.build, args.repeat, keep, "weak", WEAK)
    if args.part in (None, "whole"):
        whole(args.build, args.repeat, keep, args.only)
    report(list(rows.values()), args.report)


if __name__ == "__main__":
    main()
