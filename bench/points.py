#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What block methods could not do, or took long for, in another build: the same commands with both.

    bench/points.py --before OTHER_BUILD [MATRICES] [--build build] [--report bench/results/incomplete.md]

Stages that end, general matrices, numbers in rows, settings as printed, preconditioners and given blocks, traces, other
values of the same pattern (bench/values.c, compiled here against either build). Times are those of the report's parts, on
one thread; on a machine that others use they differ by half. Writes its section of the report."""
import json, os, re, subprocess, tempfile

from incomplete import arguments, find, keep, show, version, write_section
from pairs import program

CONT = "qp_kkt/cont-050"
STAGES = "--method ildlt --level -1 --drop-tolerance 0 --fill-factor 0 --block 8 --matching off --pivoting none --pivot-threshold 0.1 --stages"
PRINTED = "--method ildlt --strategy br --ordering amd --level 0 --fill-factor 8 --drop-tolerance 1e-4 --pivoting bk --precision single --tolerance 1e-6"
# point, what is solved, words
CASES = [
    (1, CONT, f"{STAGES} 12"), (1, CONT, f"{STAGES} 0"),
    (2, "file general", "--method ildlt --factor-type ldu --krylov gmres"), (2, "file general", "--method ilu0 --krylov bicgstab"),
    (3, "generate lin 20", "--method ilu0 --max-iterations 100"), (3, "generate nlpkkt 24", PRINTED),
    (4, "generate nlpkkt 24", f"{PRINTED} --joining off --drop-norm whole"),
    (4, "generate helmholtz 2d 100 0", "--method ildlt --level 2 --level-rule max --tolerance 1e-6"),
    (5, "generate helmholtz 2d 100 0", "--method diagonal --krylov cg --tolerance 1e-8"),
    (5, "generate helmholtz 2d 100 0", "--method block_jacobi --krylov cg --tolerance 1e-8"),
    (5, "generate helmholtz 2d 100 0", "--method ssor --krylov cg --tolerance 1e-8"),
    (5, "generate quasi-definite 40", "--method ildlt --ordering natural --given-blocks BLOCKS --level 1"),
    (6, CONT, f"{STAGES} 2 --max-iterations 5 --trace TRACE.svg"),
]
VALUES = [("generate nlpkkt 20", "method=ildlt,strategy=br,level=1,fill_factor=8,drop_tolerance=1e-4"),
          ("generate nlpkkt 20", "method=ildlt,block=8,level=2"), ("lp_kkt/bab5_it05", "method=ildlt,level=1")]


def told(row, error, point):
    """One cell: how it ended."""
    if "time_s" not in row:
        said = row.get("message") or (error.strip().splitlines() or ["?"])[0].replace("metapack solve: ", "")
        return "refused: " + re.sub(r"\S*/", "", said).partition(": expected")[0][:110].replace("|", "\\|")
    k, t, b = row.get("krylov", {}), row["time_s"], row.get("blocks", {})
    words = [f"{row['status']}, {k.get('iterations')} iterations, {row['relative_residual']:.0e}"]
    if b.get("stages", 1) > 1:
        words.append(f"{b['stages']} stages, {row['factor'].get('rejected', 0)} rejected" +
                     (f", border of {b['border_rows']}" if b.get("border_rows") else ""))
    if point == 3 and k.get("products") and k.get("applications") and k.get("time_precondition_s"):
        ratio = k["time_precondition_s"] / k["applications"] / (k["time_product_s"] / k["products"])
        words.append(f"an application takes {ratio:.1f} products")
    words.append(f"factorize {show(t.get('factorize'))} s, solve {show(t.get('solve'))} s")
    return "; ".join(words)


def run(build, source, words):
    try:
        done = subprocess.run([os.path.join(build, "metapack"), "solve", *source, *words.split(), "--threads", "1", "--json"],
                              capture_output=True, text=True, timeout=120)
    except subprocess.TimeoutExpired:
        return {}, "metapack solve: > 120 s"
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return {}, done.stderr or f"metapack solve: exit {done.returncode}"


def values(programs, source, words):
    """Least processor seconds of the first factorization, and of the third on, of three runs in turns."""
    best = [[float("inf")] * 3 for _ in programs]
    for _ in range(3):
        for k, path in enumerate(programs):
            done = subprocess.run([path, source, words], capture_output=True, text=True, check=True)
            got = json.loads(done.stdout)
            best[k] = [min(best[k][0], got["seconds"][0]), min(best[k][1], *got["seconds"][2:]), min(best[k][2], *got["fill_s"][2:])]
    return best


def main():
    parser = arguments(__doc__)
    parser.add_argument("--before", required=True, help="the folder of the other build")
    options = parser.parse_args()
    builds, rows, lines, later = (options.before, options.build), [], [], []
    with tempfile.TemporaryDirectory() as folder:
        general, blocks = os.path.join(folder, "general.mtx"), os.path.join(folder, "blocks.txt")
        subprocess.run([os.path.join(options.build, "metapack"), "generate", "convection", "20", "3d", "-o", general, "--quiet"], check=True)
        with open(blocks, "w", encoding="utf-8") as file:
            file.write("\n".join(str(k) for k in range(0, 4720, 8)))
        for point, name, words in CASES:
            source = [general] if name == "file general" else find(options, name)
            if not source:
                continue
            real = words.replace("BLOCKS", blocks).replace("TRACE", os.path.join(folder, "t"))
            cells = [told(*run(build, source, real), point) for build in builds]
            shown = {"file general": "`convection 20 3d`"}.get(name, name.replace("generate ", ""))
            rows.append({"point": point, "matrix": name, "words": words, "before": cells[0], "after": cells[1]})
            lines.append(f"| {point} | {shown} | `{words}` | {cells[0]} | {cells[1]} |")
            print(lines[-1], flush=True)
        programs = [program(build, folder, name, "values.c") for build, name in zip(builds, ("before", "after"))]
        for name, words in VALUES:
            source = name if name.startswith("generate ") else (find(options, name) or [None])[0]
            if source:
                best = values(programs, source, words)
                later.append(f"| {name.replace('generate ', '')} | `{words}` | " +
                             " | ".join(f"{1e3 * b[0]:.0f} | {1e3 * b[1]:.0f} | {1e3 * b[2]:.1f}" for b in best) + f" | {best[0][1] / best[1][1]:.2f} |")
                print(later[-1], flush=True)
    other = parser.parse_args()
    other.build = options.before
    keep(options, "points", rows)
    write_section(options, "points", "Seven points, before and after", [
        f"`metapack solve` of METAPACK {version(other, options.before)} and of {version(options)}, one thread. 1: stages that get nowhere. 2: general matrices.",
        "3: sweeps at the speed of memory (an application beside a product with A). 4: settings as printed. 5: preconditioners, given",
        "blocks. 6: traces. 7: other values of the same pattern.", "",
        "| point | matrix | command | before | after |", "|---:|---|---|---|---|", *lines, "",
        "7, milliseconds of processor time of the first factorization and of the third or a later one, on one thread, least of three",
        "runs in turns:", "",
        "| matrix | options | before: first | later | of it fill, index | after: first | later | of it fill, index | later: before / after |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|", *later])


if __name__ == "__main__":
    main()
