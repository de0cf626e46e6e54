#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What entries of the inverse cost beside the factorization, and what they are worth.

    PYTHONPATH=build/python python3 bench/selected.py [--only GLOB] [--threads T] [--write]

All real matrices of METAPACK_MATRICES (or ../shared/matrices, or data/), and generated ones. For each
the least time of the factorization and of the diagonal of the inverse, what its check says, and how far
some entries are from refined solves, that of the check's worst row among them. Beside some of them
MUMPS, where build/bench/selected_mumps (or --mumps) is there. --write: bench/results/selected.md.
"""

import argparse
import fnmatch
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import collection
import pymetapack
from page import geometric_mean

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "bench/results/selected.md"
GENERATED = (
    "nlpkkt 16", "lin nx=40 ny=40 nz=40", "helmholtz 2d 400", "helmholtz 3d 28", "stokes mac 150",
    "elements triangles 300", "elements tetrahedra 24", "optimal-control 20000",
    "helmholtz 2d 300 boundary=absorbing", "random 3000 density=0.004 entries=hermitian",
)  # fmt: skip
PEER = ("qp_kkt/cont-050", "helmholtz/NM1_shift2", "helmholtz/gun_shift146", "lp_kkt/pilot87_it06",
        "lp_kkt/woodw_it11", "acopf/case2869_pegase_it01", "helmholtz/rail_5177_shift",
        "elements triangles 100", "stokes mac 60", "elements tetrahedra 14")  # fmt: skip
THRESHOLDS = ("suitesparse_small/blckhole", "helmholtz/bcsst10_shift", "helmholtz/NM1_shift2",
              "lp_kkt/maros_r7_it03", "random 3000 density=0.004 entries=hermitian")  # fmt: skip
ENTRIES = 40


def matrices(only):
    """(class, name, function that gives it)"""
    for name, path in collection.files(only):
        yield name.split("/")[0], name, lambda path=path: pymetapack.read(str(path))
    for spec in GENERATED + tuple(p for p in PEER if " " in p):
        if fnmatch.fnmatch(spec, only):
            yield "generated", spec, lambda spec=spec: pymetapack.generate(spec)


def beside_solves(factor, diagonal, row, refine=10):
    """How far entries of the diagonal are from solves with unit vectors: the median beside the entry, the
    largest beside the largest entry of its column, in A scaled as for its factor."""
    n = len(diagonal)
    at = np.unique(np.r_[row, np.linspace(0, n - 1, ENTRIES).astype(int)])
    unit = np.zeros((n, len(at)), factor.dtype, order="F")
    unit[at, np.arange(len(at))] = 1
    x = factor.solve(unit)
    found = diagonal[at] if refine else factor.solve(unit, refine=0)[at, np.arange(len(at))]
    scale = factor.scale
    exact = x[at, np.arange(len(at))]
    apart = np.abs(found - exact)
    own = np.divide(apart, np.abs(exact), out=np.zeros(len(at)), where=exact != 0)
    column = (np.abs(x) / scale[:, None]).max(axis=0) * scale[at]
    return float(np.median(own)), float((apart / column).max())


def measure(a, threads, repeats):
    """Numbers of one matrix; None: it has no inverse."""
    hermitian = a.dtype.kind == "c" and abs(a - a.conj().T).max() == 0
    factor = pymetapack.ldl(a, hermitian=hermitian, threads=threads, singular="ignore")
    if factor.inertia.zero:
        return None
    numeric, inverse, info = np.inf, np.inf, {}
    start, done = time.perf_counter(), 0
    while done < repeats or time.perf_counter() - start < 0.3:
        done += 1
        numeric = min(numeric, factor.refactor(a).stats()["factor"]["time_s"])
        diagonal = factor.inverse_diagonal()
        info = factor.stats()["selected"]
        inverse = min(inverse, info["time_s"])
        if numeric > 2:
            break
    stats = factor.stats()
    median, largest = beside_solves(factor, diagonal, info["row"])
    return {"n": a.shape[0], "nnz": stats["factor"]["nnz"], "factor": numeric, "inverse": inverse,
            "ratio": inverse / numeric, "error": info["error"], "deviation": info["deviation"],
            "median": median, "largest": largest, "memory": info["peak_bytes"] / stats["factor"]["bytes"],
            "gflops": info["flops"] / inverse * 1e-9, "diagonal": diagonal}  # fmt: skip


def by_threshold(name, a, threads):
    """Rows of the table: the accuracy with one threshold and another."""
    hermitian = a.dtype.kind == "c"
    for u in (0.01, 0.1, 0.5):
        factor = pymetapack.ldl(a, hermitian=hermitian, threads=threads, pivot_threshold=u)
        diagonal = factor.inverse_diagonal()
        stats = factor.stats()
        row = stats["selected"]["row"]
        cells = *beside_solves(factor, diagonal, row), *beside_solves(factor, diagonal, row, 0)
        yield f"| {name} | {u} | {stats['factor']['growth']:.0f} | " + " | ".join(f"{x:.0e}" for x in cells) + " |"


def by_mumps(program, a, threads, seconds):
    """Seconds of factorization and inverse, and the diagonal; or why there are none."""
    low = sp.coo_matrix(sp.tril(a))
    with tempfile.TemporaryDirectory() as place:
        files = [f"{place}/in", f"{place}/out"]
        with open(files[0], "wb") as out:
            np.array([a.shape[0], low.nnz], np.int64).tofile(out)
            for x, kind in ((low.row + 1, np.int32), (low.col + 1, np.int32), (low.data, float)):
                x.astype(kind).tofile(out)
        try:
            said = subprocess.run([program, *files, str(threads)], capture_output=True, text=True, timeout=seconds)
        except subprocess.TimeoutExpired:
            return f"above {seconds} s"
        if said.returncode:
            return said.stdout.strip() or "failed"
        times = [float(word) for word in said.stdout.split()]
        return times[1], times[2], np.fromfile(files[1])


def show(x):
    return f"{1e3 * x:.1f}" if x < 1 else f"{1e3 * x:.0f}"


def table(rows):
    yield ("| matrix | n | entries of L | factorize, ms | inverse, ms | ratio | GFLOP/s | memory / factor | "
           "deviation | error | median | largest |")  # fmt: skip
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for name, r in rows:
        yield (f"| {name} | {r['n']} | {r['nnz']} | {show(r['factor'])} | {show(r['inverse'])} | {r['ratio']:.2f} | "
               f"{r['gflops']:.1f} | {r['memory']:.2f} | {r['deviation']:.0e} | {r['error']:.0e} | "
               f"{r['median']:.0e} | {r['largest']:.0e} |")  # fmt: skip


def page(found, peers, thresholds, singular, threads):
    large = [(kind, name, r) for kind, name, r in found if r["factor"] >= 1e-3] or found
    ratios = [r["ratio"] for _, _, r in large]
    top = max(large, key=lambda row: row[2]["ratio"])
    yield "# Entries of the inverse: their cost, and what they are worth\n"
    yield (f"`bench/selected.py --write`: {len(found)} regular matrices, {threads} thread{'s' if threads > 1 else ''} on "
           f"{processor()}, {pymetapack.build_config()}. Other work ran on the machine. For each the least time of a "
           "factorization with new values, and of the diagonal of the inverse (the entries on A's pattern are computed for its check, and "
           f"take the same). {singular} other matrices have zero pivots, and no inverse.\n")  # fmt: skip
    yield (f"Where the factorization takes at least 1 ms, which {len(large)} do, the inverse takes **{geometric_mean(ratios):.2f} times** that "
           f"(geometric mean), at most {top[2]['ratio']:.2f} times ({top[1]}). Of all {len(found)}, however small: "
           f"{geometric_mean([r['ratio'] for *_, r in found]):.2f}, at most {max(r['ratio'] for *_, r in found):.2f}. A factorization of a nearly singular "
           "matrix holds a verdict on its rank, and may take longer than the inverse.\n")  # fmt: skip
    yield "| class | matrices of at least 1 ms | ratio | worst ratio | largest deviation |\n|---|---:|---:|---:|---:|"
    for kind in sorted({kind for kind, *_ in large}):
        mine = [r for k, _, r in large if k == kind]
        yield (f"| {kind} | {len(mine)} | {geometric_mean([r['ratio'] for r in mine]):.2f} | {max(r['ratio'] for r in mine):.2f} | "
               f"{max(r['deviation'] for r in mine):.0e} |")  # fmt: skip
    within = [sum(r["largest"] <= times * r["deviation"] for *_, r in found) for times in (1, 10, 100)]
    yield (f"\nBeside solves: {ENTRIES} entries of the diagonal against refined solves with unit vectors. *Median*: of the "
           "distances beside the entry itself; *largest*: of those beside the largest entry of its column, in A scaled as for its factor. The largest is within "
           f"the deviation of {within[0]} of {len(found)} matrices, within ten times that of {within[1]}, a hundred times of "
           f"{within[2]}. An entry that is small beside others of its column may have no digit.\n")  # fmt: skip
    yield "## Pivots and accuracy\n"
    yield ("Entries follow from one another over the tree, and rounding grows with the multipliers in L, more than it does in "
           "a solve. A larger `pivot_threshold` bounds them: median and largest distance as above, beside those of solves without refinement.\n")  # fmt: skip
    yield "| matrix | `pivot_threshold` | growth | inverse: median | largest | solves: median | largest |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    yield from thresholds
    yield ""
    yield "## The slowest beside their factorization\n"
    yield from table([(name, r) for _, name, r in sorted(large, key=lambda row: -row[2]["ratio"])[:10]])
    yield "\n## The least accurate\n"
    yield from table([(name, r) for _, name, r in sorted(found, key=lambda row: -row[2]["deviation"])[:15]])
    yield "\n## The largest\n"
    yield from table([(name, r) for _, name, r in sorted(found, key=lambda row: -row[2]["factor"])[:15]])
    yield "\n## Beside MUMPS\n"
    if not peers:
        yield "Not measured: the program was not there."
        return
    yield ("MUMPS 5.5 of Debian (no METIS) computes entries of the inverse as parts of solves with sparse right-hand sides (ICNTL(30)), by "
           "any entries, here those of the diagonal, 128 at a time. Its factorization is its own.\n")  # fmt: skip
    yield "| matrix | n | METAPACK factorize, inverse, ms | MUMPS factorize, inverse, ms | MUMPS / METAPACK, inverse | apart |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, r, other in peers:
        mine = f"{show(r['factor'])}, {show(r['inverse'])}"
        if isinstance(other, str):
            yield f"| {name} | {r['n']} | {mine} | {other} | | |"
            continue
        apart = np.abs(other[2] - r["diagonal"]).max() / np.abs(r["diagonal"]).max()
        yield f"| {name} | {r['n']} | {mine} | {show(other[0])}, {show(other[1])} | {other[1] / r['inverse']:.0f} | {apart:.0e} |"


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    except OSError:
        pass
    return platform.machine()


def main():
    parse = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parse.add_argument("--only", default="*")
    parse.add_argument("--threads", type=int, default=1)
    parse.add_argument("--repeats", type=int, default=5)
    parse.add_argument("--mumps", default=str(ROOT / "build/bench/selected_mumps"))
    parse.add_argument("--peer-seconds", type=float, default=60)
    parse.add_argument("--write", action="store_true")
    args = parse.parse_args()
    warnings.simplefilter("ignore")
    found, peers, thresholds, seen, singular = [], [], [], set(), 0
    for kind, name, give in matrices(args.only):
        if name in seen:
            continue
        seen.add(name)
        try:
            a = sp.csc_matrix(give())
            r = measure(a, args.threads, args.repeats)
        except (pymetapack.MetapackError, ValueError) as error:
            print(f"{name}: {error}")
            continue
        if r is None:
            singular += 1
            print(f"{name}: singular")
            continue
        print(f"{name}: factorize {1e3 * r['factor']:.2f} ms, inverse {1e3 * r['inverse']:.2f} ms, ratio {r['ratio']:.2f}, "
              f"deviation {r['deviation']:.1e}, error {r['error']:.1e}, beside solves {r['median']:.1e} "
              f"{r['largest']:.1e}", flush=True)  # fmt: skip
        found.append((kind, name, r))
        if name in THRESHOLDS:
            thresholds += by_threshold(name, a, args.threads)
        if name in PEER and Path(args.mumps).exists():
            peers.append((name, r, by_mumps(args.mumps, a, args.threads, args.peer_seconds)))
    text = "\n".join(page(found, peers, thresholds, singular, args.threads)) + "\n"
    print(text)
    if args.write:
        PAGE.write_text(text)


if __name__ == "__main__":
    sys.exit(main())
