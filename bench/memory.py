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
CLASSES = (5e6, 50e6)  # bytes of L's entries
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
    """Of the settings whose answers are right: the peak of the first, the least peak, and what it says itself then."""
    found = {}
    for row in map(json.loads, open(path)) if path else ():
        if row.get("solver") == "pardiso" and row.get("threads") == threads and row.get("backward_error", 1) <= 1e-14:
            found.setdefault(row["matrix"], []).append((row["peak_mb"] * 2**20, row.get("told_mb", 0) * 2**20))
    return {k: (v[0][0], *min(v)) for k, v in found.items() if min(v)[0] > 0}


def size(x):
    return f"{x / 1e3:.0f} kB" if x < 1e6 else f"{x / 1e6:.3g} MB" if x < 1e9 else f"{x / 1e9:.3g} GB"


def spread(ratios):
    ratios = sorted(ratios)
    low, middle, high = statistics.quantiles(ratios, n=4)
    return f"median {middle:.2f}, quartiles {low:.2f} and {high:.2f}, all from {ratios[0]:.2f} to {ratios[-1]:.2f}"


def share(r):
    return whole(r) / r["entries"]


def worst(ratios, count=4):
    """ratios: (ratio, row); the largest ones"""
    return ", ".join(f"{r['name'].split('/')[-1]} {x:.2f}" for x, r in sorted(ratios, key=lambda p: -p[0])[:count])


def classes(rows, before, peer):
    """A line for each class of sizes of L."""
    for low, high in zip((0, *CLASSES), (*CLASSES, float("inf"))):
        some = [r for r in rows if low <= r["entries"] < high and r["entries"] > 0]
        if not some:
            continue
        span = f"below {size(high)}" if low == 0 else f"{size(low)} to {size(high)}" if high < float("inf") else f"{size(low)} or more"
        old = [r for r in some if r["name"] in before]
        near = [r for r in some if key(r) in peer]
        yield (f"| {span} | {len(some)} | {geometric_mean(map(share, some)):.2f} | "
               + (f"{geometric_mean(share(before[r['name']]) for r in old):.2f} ({geometric_mean(share(r) for r in old):.2f} of {len(old)})"
                  if old else "") + f" | {worst([(share(r), r) for r in some])} | "
               + (f"{geometric_mean(peer[key(r)][0] / whole(r) for r in near):.2f} | {geometric_mean(peer[key(r)][1] / whole(r) for r in near):.2f}"
                  f" of {len(near)}, above 1 on {sum(peer[key(r)][1] > whole(r) for r in near)} | "
                  f"{worst([(whole(r) / peer[key(r)][1], r) for r in near], 3)} |"
                  if near else " | | |"))


def key(r):
    return r["name"]


def page(options, rows):
    before = {r["name"]: r for r in json.load(open(options.before))} if options.before else {}
    peer = pardiso(options.peers, options.threads)
    seen = [r for r in rows if r["analysis_said"] >= SEEN]
    ratio = lambda r: r["peak_counted"] / r["peak_said"]
    calm = [ratio(r) for r in rows if r["delayed"] == 0 and r["zero"] == 0]
    other = [ratio(r) for r in rows if r["delayed"] or r["zero"]]
    out = [f"# Memory\n\n`bench/memory.py MATRICES --threads {options.threads}` on {platform.machine()}, {os.cpu_count()} "
           f"processors, {len(rows)} matrices.\n",
           "## What a process holds\n\nMost resident pages of analysis, factorization and solve, done twice, beyond those of the "
           "matrix, over the bytes of L's entries. The second round's pages are mostly the first one's: what was freed is kept below "
           "the most that was in use. PARDISO: the same, over what we hold, with the first of its settings whose answer is right "
           "(matching, default, minimum degree), and with that of them which holds least.\n",
           "| L | matrices | most / L, geometric mean | before | worst | PARDISO / ours, first | least | worst, ours / least |\n"
           "|---|---:|---:|---:|---|---:|---|---|", *classes(rows, before, peer), "",
           "## Predicted\n\nTaken / predicted, bytes that the context counts (`mpk_factor_info.peak_bytes`, `mpk_analysis_info.peak_bytes`): "
           f"{spread(map(ratio, rows))}; {sum(r < 1.25 for r in map(ratio, rows))} of {len(rows)} below 1.25."]
    if len(calm) > 1 and len(other) > 1:
        out.append(f"Without delayed columns and zero pivots, {len(calm)}: {spread(calm)}. With them, {len(other)}: {spread(other)}. "
                   f"Beyond 2 are matrices whose first factorization was given up for another, or whose zero pivots are confirmed by a "
                   f"second one: no analysis sees that.")
    if len(seen) > 1:
        least = [(r["analysis_resident"] / r["analysis_said"], r) for r in seen]
        made = [(r["made_counted"] / r["made_said"], r) for r in seen]
        out.append(f"\nAn analysis is refused at once where what it takes at the least is not free, so a ratio below 1 would refuse what "
                   f"fits. Taken / least, where the least is {size(SEEN)} or more: {spread([x for x, _ in least])}; worst "
                   f"{worst(least)}. Of the matrix itself, read or generated: {spread([x for x, _ in made])}; worst {worst(made)}.")
    out.append("\n## All\n\nTold: what PARDISO says to have held (`max(iparm(15), iparm(16) + iparm(17))`), with the setting that holds "
               "least.\n\n| matrix | n | nonzeros | L | analyse | factorize | solve | most / L | before | PARDISO / L | told / L | predicted | "
               "taken / predicted | delayed | zero | factorizations |\n" + "|---|" + "---:|" * 15)
    for r in sorted((r for r in rows if r["entries"] > 0), key=lambda r: (-sum(r["entries"] >= c for c in CLASSES), -share(r))):
        name = r["name"]
        out.append(f"| {name} | {r['n']:.0f} | {r['nnz']:.0f} | {size(r['entries'])} | "
                   + " | ".join(size(r[f"whole_{phase}"]) for phase in PHASES) + f" | {share(r):.2f} | "
                   + (f"{share(before[name]):.2f}" if name in before else "") + " | "
                   + (f"{peer[key(r)][1] / r['entries']:.2f} | {peer[key(r)][2] / r['entries']:.2f}" if key(r) in peer else " | ")
                   + f" | {size(r['peak_said'])} | {ratio(r):.2f} | {r['delayed']:.0f} | {r['zero']:.0f} | {r['stages']:.0f} |")
    return "\n".join(out) + "\n"


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
