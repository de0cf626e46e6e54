#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PETSc's parallel preconditioners with METAPACK as the solver of each part, on 1 to 16 ranks, beside MUMPS on the same ranks.

    bench/petsc_ranks.py --build build/check/release [--n 32] [--ranks 1,2,4,8,16] [--report bench/results/petsc-ranks.md]

examples/petsc/saddle.c, which knows neither, assembles a Stokes and an optimal-control system; options alone differ.
Processor time is that of all ranks, MPI's start and waiting included: on ranks that share cores an elapsed time says little.
"""
import argparse, os, re, resource, subprocess, sys
from pathlib import Path

LOCAL = "-sub_pc_type cholesky -sub_pc_factor_mat_solver_type metapack"
GMRES = "-ksp_type gmres -ksp_pc_side right -ksp_gmres_restart 100 -ksp_rtol 1e-8 -ksp_max_it 500"
# The complement is approximated by selfp, whose solver is ASM with inner GMRES, or a whole factor on each rank
SCHUR = ("-ksp_type fgmres -ksp_gmres_restart 100 -ksp_rtol 1e-8 -ksp_max_it 500 -pc_type fieldsplit -pc_fieldsplit_block_size 3 "
         "-pc_fieldsplit_0_fields 0,1 -pc_fieldsplit_1_fields 2 -pc_fieldsplit_type schur -pc_fieldsplit_schur_fact_type full "
         "-pc_fieldsplit_schur_precondition selfp -fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type redundant "
         "-fieldsplit_0_redundant_pc_type cholesky -fieldsplit_0_redundant_pc_factor_mat_solver_type metapack ")  # fmt: skip
INNER = "-fieldsplit_1_ksp_type gmres -fieldsplit_1_ksp_rtol 1e-2"
ASM = "-fieldsplit_1_pc_type asm -fieldsplit_1_sub_pc_type cholesky -fieldsplit_1_sub_pc_factor_mat_solver_type metapack"
WHOLE = ("-fieldsplit_1_pc_type redundant -fieldsplit_1_redundant_pc_type cholesky "
         "-fieldsplit_1_redundant_pc_factor_mat_solver_type metapack")  # fmt: skip
WAYS = {
    "MUMPS": "-dm_mat_type sbaij -mat_mumps_icntl_13 1 -mat_mumps_icntl_24 1 -ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type mumps",
    "redundant": "-ksp_type preonly -pc_type redundant -redundant_pc_type cholesky -redundant_pc_factor_mat_solver_type metapack",
    "bjacobi": f"{GMRES} -pc_type bjacobi {LOCAL}",
    "asm, overlap 1": f"{GMRES} -pc_type asm {LOCAL}",
    "asm, overlap 4": f"{GMRES} -pc_type asm -pc_asm_overlap 4 {LOCAL}",
    "asm symmetric, sqmr": f"-ksp_type sqmr -ksp_rtol 1e-8 -ksp_max_it 500 -pc_type asm -pc_asm_overlap 4 -pc_asm_type basic {LOCAL}",
    "fieldsplit, asm": f"{SCHUR} {INNER} {ASM}",
    "fieldsplit, redundant": f"{SCHUR} {INNER} {WHOLE}",
    "fieldsplit, no inner steps": f"{SCHUR} -fieldsplit_1_ksp_type preonly {WHOLE}",
}


def run(args, problem, n, ranks, options):
    """(iterations, residual, reason, seconds of processor), or the first words of what went wrong."""
    plugin = next(Path(args.build).glob("petsc/real/libmetapack_petsc.so")).resolve()
    command = ["mpirun", "--oversubscribe", "--allow-run-as-root", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1",
               "-n", str(ranks), str(Path(args.build).resolve() / "petsc_saddle_real"), "-problem", problem, "-n", str(n),
               "-dll_append", str(plugin), *options.split()]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=args.timeout,
                              env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"more than {args.timeout} s"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    found = re.search(r"iterations=(\d+) residual=(\S+) .*reason=(\S+)", done.stdout)
    if not found:
        return (re.search(r"\[0\]PETSC ERROR: (?!---)(.*)", done.stderr) or [0, f"exit {done.returncode}"])[1][:60]
    return int(found[1]), float(found[2]), found[3], cpu


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default="build")
    parser.add_argument("--n", type=int, default=32)
    parser.add_argument("--ranks", default="1,2,4,8,16")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--ways", help="only those with these words in their names, with commas between")
    parser.add_argument("--report")
    args = parser.parse_args()
    ranks = [int(r) for r in args.ranks.split(",")]
    lines, failed = [], 0
    for problem in ("stokes", "control"):
        lines += [f"## {problem}, {3 * (args.n + 1) ** 2} unknowns", "",
                  "| solver | " + " | ".join(f"{r} rank{'s' * (r > 1)}" for r in ranks) + " |", "|---" * (len(ranks) + 1) + "|"]  # fmt: skip
        for way, options in WAYS.items():
            if args.ways and not any(word in way for word in args.ways.split(",")):
                continue
            cells = []
            for r in ranks:
                got = run(args, problem, args.n, r, options)
                if isinstance(got, str):
                    cells.append(got)
                    failed += way == "MUMPS"
                    continue
                its, residual, reason, cpu = got
                right = not reason.startswith("DIVERGED") and residual < 1e-6
                cells.append(f"{its}, {cpu:.1f} s" if right else f"{reason.lower().replace('_', ' ')} ({its}, {residual:.0e})")
                failed += way in ("MUMPS", "redundant") and not right
                failed += reason.startswith("CONVERGED") and not residual < 1e-3  # a wrong answer that says it is right
            lines.append(f"| {way} | " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
        lines.append("")
    if args.report:
        head = Path(args.report).read_text().split("\n## ")[0] if Path(args.report).exists() else "# PETSc over ranks\n"
        Path(args.report).write_text(head.rstrip() + "\n\n" + "\n".join(lines))
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
