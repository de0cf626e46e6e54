#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Method auto of two builds on the same matrices, in turns: is this one faster than that?

    bench/pairs.py --before OTHER_BUILD [MATRICES] [--build build] [--turns 5] [--report bench/results/incomplete.md]

mpk_solve_adaptive without the direct solver, by SQMR to 1e-6 (bench/adaptive.c, compiled here against either build's
headers and library), on the indefinite matrices of bench/auto.py. Each run is a process of its own; its time is that of
the call: analysis, all factorizations and solves, not reading, which both do alike. Of the turns the fastest counts; and
that of least processor time, which other programs change less.
Writes its section of the report; rows go to BUILD/bench/pairs.jsonl."""
import fnmatch, json, math, os, re, statistics, subprocess, tempfile

from auto import catalogue
from incomplete import ROOT, arguments, find, keep, show, version, write_section
from page import geometric_mean


def program(build, folder, name, source="adaptive.c"):
    """A file of bench/ against the headers and the library of a build."""
    build = os.path.abspath(build)
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as cache:
        sources = re.search(r"^CMAKE_HOME_DIRECTORY:\w+=(.*)$", cache.read(), re.M)[1]
    to = os.path.join(folder, name)
    subprocess.run(["cc", "-O2", "-std=gnu11", f"-I{sources}/include", os.path.join(ROOT, "bench", source), "-o", to,
                    f"-L{build}", "-lmetapack", "-lm", f"-Wl,-rpath,{build}"], check=True)
    return to


def run(path, source, options):
    try:
        done = subprocess.run([path, source, str(options.threads)], capture_output=True, text=True, timeout=options.timeout)
        return json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return {"seconds": math.inf, "cpu_s": math.inf, "relative_residual": math.inf, "attempts": []}


def best(runs):
    return min(runs, key=lambda row: row["seconds"])


def cell(row):
    told = " + ".join(str(a["iterations"]) for a in row["attempts"])
    return f"{1e3 * row['seconds']:.1f} | {told}{'' if row['relative_residual'] <= 1e-6 * (1 + 1e-9) else ' †'}"


def main():
    parser = arguments(__doc__)
    parser.add_argument("--before", required=True, help="the folder of the other build")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--timeout", type=float, default=40, help="seconds for one run")
    options = parser.parse_args()
    rows, lines, ratios, long, cpu = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        paths = [program(options.before, folder, "before"), program(options.build, folder, "after")]
        for name, why in catalogue(options):
            source = find(options, name)
            if why or not source or not fnmatch.fnmatch(name, options.only):
                continue
            runs = ([], [])
            for turn in range(options.turns):
                for which in ((0, 1), (1, 0))[turn % 2]:
                    runs[which].append(run(paths[which], source[-1], options))
            before, after = map(best, runs)
            ratio = before["seconds"] / after["seconds"]
            ratios.append(ratio)
            cpu.append(min(r["cpu_s"] for r in runs[0]) / min(r["cpu_s"] for r in runs[1]))
            if before["seconds"] >= 0.05:
                long.append(ratio)
            rows.append({"matrix": name, "before": before, "after": after, "ratio": ratio, "cpu_ratio": cpu[-1]})
            lines.append(f"| {name} | {after.get('n', '')} | {cell(before)} | {cell(after)} | {show(ratio, '.2f')} | {show(cpu[-1], '.2f')} |")
            print(lines[-1], f"mean {geometric_mean(ratios):.3f}, {geometric_mean(cpu):.3f}", flush=True)
    keep(options, "pairs", rows)
    total = [sum(row[which]["seconds"] for row in rows) for which in ("before", "after")]
    good = [sum(row[which]["relative_residual"] <= 1e-6 * (1 + 1e-9) for row in rows) for which in ("before", "after")]
    other = parser.parse_args()
    other.build = options.before
    write_section(options, "pairs", "`--method auto --no-direct` before and after", [
        f"METAPACK {version(other, options.before)} and {version(options)} in turns, {options.threads} threads, the fastest of "
        f"{options.turns} each; milliseconds of",
        "`mpk_solve_adaptive`: analysis, factorizations and solves, without reading. Iterations of each attempt († no true residual",
        "of 1e-6).", "",
        f"**Geometric mean of before / after: {geometric_mean(ratios):.2f}** on all {len(ratios)}; {geometric_mean(long):.2f} on the {len(long)} that took "
        f"50 ms or more; {geometric_mean(cpu):.2f} in processor time. All together {total[0]:.2f} s and {total[1]:.2f} s. Converged: {good[0]} and {good[1]} of {len(rows)}.", "",
        "| matrix | n | before ms | iterations | after ms | iterations | before / after | processor time |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
        *lines])


if __name__ == "__main__":
    main()
