#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Memory that is predicted beside memory that is taken: bench/results/memory.md.

    bench/memory.py [MATRICES] [--build build] [--threads 1] [--only PATTERN] [--report bench/results/memory.md]
                    [--save ROWS] [--before ROWS] [--peers RESULTS]

BUILD/bench/memory (bench/memory.c) runs once for each matrix of the folder, and for generated ones that are large enough
for their analysis to be seen. Without --report the table goes to standard output. --save keeps the rows; --before sets
those of another build beside them, --peers what bench/direct.py has measured of PARDISO (BUILD/bench/results.jsonl)."""
import argparse
import fnmatch
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys

from page import geometric_mean

GENERATED = ("nlpkkt 20", "nlpkkt 40", "helmholtz 2d 700", "helmholtz 3d 40", "stokes mac 250", "stokes q2q1 100",
             "lp-kkt 100000 200000 coupling=local", "quasi-definite 300", "optimal-control 20000", "lin 60 60 40",
             "nlpkkt 30", "helmholtz 3d 50", "control-distributed 30", "lin nx=40 ny=40 nz=40", "stokes mac 183",
             "helmholtz 2d 300 boundary=absorbing", "lp-kkt 30000 60000 coupling=local", "quasi-definite 190",
             "lp-kkt 4000 8000 coupling=random", "optimal-control 5000", "random 3000 density=0.002")
PHASES = ("analyse", "factorize", "solve")
LEAST, LARGE = 5e6, 50e6  # bytes of L's entries
SEEN = 4e6  # bytes: below, pages and the allocator's own habits are all that one sees of an analysis


def measure(options, name, source):
    run = subprocess.run([f"{options.build}/bench/memory", source, str(options.threads)], capture_output=True, text=True)
    if run.returncode:
        print(f"{name}: {run.stderr.strip()}", file=sys.stderr)
        return None
    row = dict(pair.split("=", 1) for pair in run.stdout.split())
    return {"name": name, "file": os.path.exists(source),
            **{k: v if k == "ordering" else float(v) for k, v in row.items()}}


def matrices(options):
    folder = pathlib.Path(options.matrices)
    for path in sorted(folder.glob("*/*.mtx*")):
        if "_b.mtx" not in path.name:
            yield str(path.relative_to(folder)).split(".mtx")[0], str(path)


def whole(r):
    return max(r[f"whole_{phase}"] for phase in PHASES)


def pardiso(path, threads):
    """Peak of the first setting whose answer is right."""
    peaks = {}
    for row in map(json.loads, open(path)) if path else ():
        if row.get("solver") == "pardiso" and row.get("threads") == threads and row.get("backward_error", 1) <= 1e-14:
            peaks.setdefault(row["matrix"], row["peak_mb"] * 2**20)
    return peaks


def process_table(options, rows):
    """What a process holds at most, over the entries of L."""
    before = {r["name"]: r for r in json.load(open(options.before))} if options.before else {}
    peer = pardiso(options.peers, options.threads)
    key = lambda r: r["name"].removeprefix("generate ")
    rows = [r for r in rows if r["entries"] >= LEAST]
    share = lambda r: whole(r) / r["entries"]
    out = [f"## What a process holds\n\nMost resident pages of analysis, factorization and solve, done twice, beyond those of the "
           f"matrix, over the bytes of L's entries, where these are {size(LEAST)} or more. The phase in which most is held is that "
           f"of the second round, too: what the first has freed is kept below what it had in use.\n"]
    for low, high in ((LEAST, LARGE), (LARGE, float("inf"))):
        some = [r for r in rows if low <= r["entries"] < high]
        if not some:
            continue
        span = f"{size(low)} to {size(high)}" if high < float("inf") else f"{size(low)} or more"
        text = f"L of {span}, {len(some)} matrices: {geometric_mean(map(share, some)):.2f} in the geometric mean"
        old = [r for r in some if r["name"] in before]
        if old:
            text += f"; {geometric_mean(share(before[r['name']]) for r in old):.2f} before"
        near = [r for r in some if key(r) in peer]
        if near:
            ratio = [peer[key(r)] / whole(r) for r in near]
            text += f"; PARDISO holds {geometric_mean(ratio):.2f} times as much on {len(near)}, less on {sum(x < 1 for x in ratio)}"
        out.append(text + ".")
    out.append("\n| matrix | n | nonzeros | L | analyse | factorize | solve | most / L | before | PARDISO / L |\n"
               "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for r in sorted(rows, key=share, reverse=True):
        name = r["name"]
        out.append(f"| {name} | {r['n']:.0f} | {r['nnz']:.0f} | {size(r['entries'])} | "
                   + " | ".join(size(r[f"whole_{phase}"]) for phase in PHASES) + f" | {share(r):.2f} | "
                   + (f"{share(before[name]):.2f}" if name in before else "") + " | "
                   + (f"{peer[key(r)] / r['entries']:.2f}" if key(r) in peer else "") + " |")
    return out


def size(x):
    return f"{x / 1e3:.0f} kB" if x < 1e6 else f"{x / 1e6:.3g} MB" if x < 1e9 else f"{x / 1e9:.3g} GB"


def spread(ratios):
    ratios = sorted(ratios)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"median {middle:.2f}, quartiles {low:.2f} and {high:.2f}, all from {ratios[0]:.2f} to {ratios[-1]:.2f}"


def page(options, rows):
    some = [r for r in rows if r["file"]] or rows
    seen = [r for r in rows if r["analysis_said"] >= SEEN]
    ratio = lambda r: r["peak_counted"] / r["peak_said"]
    calm = [ratio(r) for r in some if r["delayed"] == 0 and r["zero"] == 0]
    other = [ratio(r) for r in some if r["delayed"] or r["zero"]]
    out = [f"# Memory: predicted and taken\n\n`bench/memory.py MATRICES --threads {options.threads}` on "
           f"{platform.machine()}, {os.cpu_count()} processors; bytes that the context counts, and, of analyses, pages that "
           f"the system counts (METIS allocates by itself). [What a process holds](#what-a-process-holds), and PARDISO: at the end.\n",
           f"## The peak of a factorization\n\nTaken / predicted (`mpk_factor_info.peak_bytes`, "
           f"`mpk_analysis_info.peak_bytes`), {len(some)} matrices: {spread(map(ratio, some))}; {sum(r < 1.25 for r in map(ratio, some))} "
           f"below 1.25."]
    if len(calm) > 1 and len(other) > 1:
        out.append(f"Without delayed columns and zero pivots, {len(calm)} matrices: {spread(calm)}. With them, {len(other)}: "
                   f"{spread(other)}. Beyond 2 are matrices whose first factorization was given up for another, or whose zero "
                   f"pivots are confirmed by a second one: no analysis sees that.")
    out.append("\n| matrix | n | predicted | taken | ratio | delayed columns | zero pivots | factorizations |\n"
               "|---|---:|---:|---:|---:|---:|---:|---:|")
    for r in sorted(some, key=ratio):
        out.append(f"| {r['name']} | {r['n']:.0f} | {size(r['peak_said'])} | {size(r['peak_counted'])} | {ratio(r):.2f} | "
                   f"{r['delayed']:.0f} | {r['zero']:.0f} | {r['stages']:.0f} |")
    if seen:
        out.append(f"\n## Analyses\n\nAn analysis is refused at once where what it takes at the least is not free. Taken / "
                   f"least, where the least is {size(SEEN)} or more: {spread([r['analysis_resident'] / r['analysis_said'] for r in seen])}. "
                   f"A ratio below 1 would refuse what fits.\n\n| matrix | n | ordering | at the least | counted | resident | ratio |\n"
                   "|---|---:|---|---:|---:|---:|---:|")
        for r in sorted(seen, key=lambda r: r["analysis_resident"] / r["analysis_said"]):
            out.append(f"| {r['name']} | {r['n']:.0f} | {r['ordering']} | {size(r['analysis_said'])} | {size(r['analysis_counted'])} | "
                       f"{size(r['analysis_resident'])} | {r['analysis_resident'] / r['analysis_said']:.2f} |")
        out.append("\n## Reading and generating\n\nThe same for the matrix itself: of a file the entries that its header "
                   "declares, of a generator all that it makes.\n\n| matrix | nonzeros | at the least | counted | ratio |\n|---|---:|---:|---:|---:|")
        for r in sorted(seen, key=lambda r: r["made_counted"] / r["made_said"]):
            out.append(f"| {r['name']} | {r['nnz']:.0f} | {size(r['made_said'])} | {size(r['made_counted'])} | "
                       f"{r['made_counted'] / r['made_said']:.2f} |")
    return "\n".join([*out, "", *process_table(options, rows)]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="?", default="../shared/matrices")
    parser.add_argument("--build", default="build")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--report")
    parser.add_argument("--save")
    parser.add_argument("--before")
    parser.add_argument("--peers")
    options = parser.parse_args()
    sources = [*matrices(options), *((f"generate {spec}", spec) for spec in GENERATED)]
    rows = [measure(options, name, source) for name, source in sources if fnmatch.fnmatch(name, options.only)]
    rows = [r for r in rows if r]
    if len(rows) < 2:
        sys.exit("bench/memory.py: fewer than two matrices were measured")
    if options.save:
        pathlib.Path(options.save).write_text(json.dumps(rows), encoding="utf-8")
    text = page(options, rows)
    if options.report:
        pathlib.Path(options.report).write_text(text, encoding="utf-8")
    else:
        print(text)


main()
