#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct factor of matrices that are not symmetric, beside UMFPACK and SuperLU.

    PYTHONPATH=build/python python3 bench/general.py [--only GLOB] [--threads T] [--largest N] [--write]

Convection, circuits and random matrices of several sizes, and the real matrices of METAPACK_MATRICES (or ../shared/matrices, or data/)
up to --largest rows: those are symmetric, and their rows are multiplied by random numbers of both signs. For each the least time of
analysis, factorization and one solve. UMFPACK is called in libumfpack.so (Debian: libsuitesparse), SuperLU by SciPy, where UMFPACK took less
than a second. --write: bench/results/general.md.
"""

import argparse
import ctypes
import fnmatch
import math
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla

import collection
import pymetapack
from page import geometric_mean
from selected import processor

PAGE = Path(__file__).resolve().parents[1] / "bench/results/general.md"
GENERATED = (
    "convection 10", "convection 30", "convection 100", "convection 200", "convection 300", "convection 100 speed=1000 wind=circular",
    "convection 100 rows=shuffled", "convection 10 dimension=3d", "convection 20 dimension=3d", "convection 26 dimension=3d",
    "random 300 density=0.02 entries=general", "random 1000 density=0.004 entries=general",
    "random 2000 density=0.002 entries=general",
)  # fmt: skip
CIRCUITS = (300, 1000, 3000, 10000)
UMFPACK_OK, UMFPACK_SINGULAR = 0, 1


def circuit(n, rails=5):
    """A modified nodal matrix: conductances between nodes that are near, controlled sources, rails that many nodes hang on, and
    voltage sources, whose rows have a zero on the diagonal."""
    rng = np.random.default_rng(n)
    k, few = 3 * n, n // 4
    i = rng.integers(0, n, k)
    j = (i + np.minimum(np.abs(rng.normal(0, 30, k)).astype(int) + 1, n - 1)) % n
    g = 10.0 ** rng.uniform(-4, 1, k)
    at, by, gain = rng.integers(0, n, few), rng.integers(0, n, few), 10.0 ** rng.uniform(-3, 0, few)
    hangs = rng.integers(rails, n, (rails, n // 10))
    rail = np.repeat(np.arange(rails), n // 10)
    source, node = n + np.arange(n // 20), rng.choice(n, n // 20, replace=False)
    rows = [i, j, i, j, at, at, rail, hangs.ravel(), source, node, np.arange(n)]
    cols = [j, i, i, j, by, (by + 1) % n, hangs.ravel(), rail, node, source, np.arange(n)]
    less = np.full(len(rail), -0.01)
    vals = [-g, -g, g, g, gain, -gain, less, less, np.ones(len(node)), np.ones(len(node)), np.full(n, 1e-6)]
    m = n + len(node)
    return sp.csc_matrix((np.concatenate(vals), (np.concatenate(rows), np.concatenate(cols))), shape=(m, m))


def of_real(path, largest):
    """A real symmetric matrix whose rows are multiplied; None: it is another one, or too large."""
    a = sp.csc_matrix(pymetapack.read(str(path)))
    n = a.shape[0]
    if a.dtype.kind == "c" or n > largest:
        return None
    rng = np.random.default_rng(n)
    return sp.csc_matrix(sp.diags(10.0 ** rng.uniform(-1, 1, n) * rng.choice([-1, 1], n)) @ a)


def matrices(only, largest):
    """(class, name, function that gives it)"""
    for spec in GENERATED:
        if fnmatch.fnmatch(spec, only):
            yield spec.split()[0], spec, lambda spec=spec: sp.csc_matrix(pymetapack.generate(spec))
    for n in CIRCUITS:
        if fnmatch.fnmatch(f"circuit {n}", only):
            yield "circuit", f"circuit {n}", lambda n=n: circuit(n)
    for name, path in collection.files(only):
        yield name.split("/")[0], name, lambda path=path: of_real(path, largest)


class Umfpack:
    """Seconds of analysis, factorization and solve; x; is A singular?"""

    def __init__(self):
        self.lib = ctypes.CDLL("libumfpack.so.5")

    def __call__(self, a, b):
        at = [x.ctypes.data_as(ctypes.c_void_p) for x in (a.indptr, a.indices, a.data)]
        control, info, x = np.zeros(20), np.zeros(90), np.zeros(len(b))
        symbolic, numeric = ctypes.c_void_p(), ctypes.c_void_p()
        place = lambda v: v.ctypes.data_as(ctypes.c_void_p)
        rest = place(control), place(info)
        n, lib = a.shape[0], self.lib
        lib.umfpack_di_defaults(rest[0])
        clock = [time.perf_counter()]
        lib.umfpack_di_symbolic(n, n, *at, ctypes.byref(symbolic), *rest)
        clock.append(time.perf_counter())
        status = lib.umfpack_di_numeric(*at, symbolic, ctypes.byref(numeric), *rest)
        clock.append(time.perf_counter())
        if status in (UMFPACK_OK, UMFPACK_SINGULAR):
            lib.umfpack_di_solve(0, *at, place(x), place(b), numeric, *rest)
        clock.append(time.perf_counter())
        lib.umfpack_di_free_symbolic(ctypes.byref(symbolic))
        lib.umfpack_di_free_numeric(ctypes.byref(numeric))
        return np.diff(clock), x, status != UMFPACK_OK


def superlu(a, b):
    clock = [time.perf_counter()]
    try:
        factor = sla.splu(a)
    except RuntimeError:  # exactly singular
        return np.array([0, np.nan, 0]), np.full(len(b), np.nan), True
    clock.append(time.perf_counter())
    x = factor.solve(b)
    return np.array([0, clock[1] - clock[0], time.perf_counter() - clock[1]]), x, False


class Metapack:
    def __init__(self, threads):
        self.threads = threads

    def __call__(self, a, b):
        factor = pymetapack.lu(a, threads=self.threads, singular="ignore")
        start = time.perf_counter()
        try:
            x = factor.solve(b)
        except pymetapack.SingularMatrixError as error:
            x = error.solution
        s = factor.stats()
        self.delayed = s["factor"]["rejected"]
        return np.array([s["analysis"]["time_s"], s["factor"]["time_s"], time.perf_counter() - start]), x, factor.status == "singular"


def error_of(a, x, b):
    """||b - A x|| / (||A|| ||x|| + ||b||), maximum norms"""
    r = np.abs(b - a @ x).max()
    return r / (abs(a).sum(axis=1).max() * np.abs(x).max() + np.abs(b).max())


def least(run, a, b, seconds=0.2):
    """The least times of some runs, and what the last one gave."""
    best, start, done = np.full(3, np.inf), time.perf_counter(), 0
    while done == 0 or (done < 40 and time.perf_counter() - start < seconds):
        times, x, singular = run(a, b)
        best, done = np.fmin(best, times), done + 1
    return {"times": best, "all": float(best.sum()), "error": error_of(a, x, b), "singular": singular}


def show(x):
    return "" if not math.isfinite(x) else f"{1e3 * x:.2f}" if x < 0.1 else f"{1e3 * x:.0f}"


def shown(r):
    return "" if r is None else "singular" if not math.isfinite(r["all"]) else show(r["all"])


def page(found, threads):
    every, found = found, [row for row in found if not (row["ours"]["singular"] or row["umfpack"]["singular"])]
    ratios = [row["ratio"] for row in found]
    large = [row["ratio"] for row in found if row["ours"]["all"] >= 1e-3] or ratios
    worst = max(found, key=lambda row: row["ratio"])
    apart = [row for row in every if row["ours"]["singular"] != row["umfpack"]["singular"]]
    yield "# Matrices that are not symmetric, directly\n"
    yield (f"`bench/general.py --write`: {len(every)} matrices, {threads} thread{'s' if threads > 1 else ''} on {processor()}, "
           f"{pymetapack.build_config()}. UMFPACK 5.7 (libsuitesparse of Debian, called directly, its defaults) and SuperLU (SciPy's) with OpenBLAS and "
           "as many threads. Other work ran on the machine. Milliseconds of analysis, factorization and one solve together, the least of several runs. METAPACK's "
           "solve is refined, and computes its backward error.\n")  # fmt: skip
    yield (f"Of the {len(found)} that both find regular METAPACK takes **{geometric_mean(ratios):.2f} times** the time of the faster one (geometric mean), "
           f"at most {worst['ratio']:.2f} times ({worst['name']}), of {sum(r <= 1.2 for r in ratios)} at most 1.2 times; of the {len(large)} that take it a millisecond "
           f"or more {geometric_mean(large):.2f} times, at most {max(large):.2f} times, of {sum(r <= 1.2 for r in large)} at most 1.2 times. Below that it is the call from "
           f"Python, with refinement and its numbers, that counts. Worst error ||b − A x|| / (||A|| ||x|| + ||b||): "
           f"{max(row['ours']['error'] for row in found):.0e}, UMFPACK's {max(row['umfpack']['error'] for row in found):.0e}. "
           f"Singular or not: {len(every) - len(apart)} of {len(every)} as UMFPACK says, which counts exact zeros alone"
           + (": others are " + ", ".join(row["name"] for row in apart) if apart else "") + ".\n")  # fmt: skip
    yield "| class | matrices | ratio | worst ratio |\n|---|---:|---:|---:|"
    for kind in sorted({row["kind"] for row in found}):
        mine = [row["ratio"] for row in found if row["kind"] == kind]
        yield f"| {kind} | {len(mine)} | {geometric_mean(mine):.2f} | {max(mine):.2f} |"
    yield ("\nThe real matrices are symmetric, and their rows were multiplied by random numbers between 0.1 and 10 of both signs. *Circuit*: a nodal "
           "matrix with controlled sources, five rails, and voltage sources without diagonal (`bench/general.py`). *Ratio*: to the faster of the other "
           "two; SuperLU was left out where UMFPACK took a second.\n")  # fmt: skip
    yield "| matrix | n | entries | analyse | factorize | solve | METAPACK | UMFPACK | SuperLU | ratio | delayed | error | UMFPACK's |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"
    for row in sorted(found, key=lambda row: -row["ratio"]):
        ours = row["ours"]
        yield (f"| {row['name']} | {row['n']} | {row['nnz']} | {' | '.join(map(show, ours['times']))} | {shown(ours)} | {shown(row['umfpack'])} | "
               f"{shown(row['superlu'])} | {row['ratio']:.2f} | {row['delayed']} | {ours['error']:.0e} | {row['umfpack']['error']:.0e} |")  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="*")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--largest", type=int, default=9000)
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    ours, umfpack, found = Metapack(args.threads), Umfpack(), []
    for kind, name, make in matrices(args.only, args.largest):
        a = make()
        if a is None:
            continue
        a.sum_duplicates()
        b = a @ np.random.default_rng(0).standard_normal(a.shape[0])
        row = {"kind": kind, "name": name, "n": a.shape[0], "nnz": a.nnz, "ours": least(ours, a, b), "delayed": ours.delayed,
               "umfpack": least(umfpack, a, b), "superlu": None}  # fmt: skip
        if row["umfpack"]["all"] < 1:
            row["superlu"] = least(superlu, a, b, 0.05)
        others = [row[k]["all"] for k in ("umfpack", "superlu") if row[k] and math.isfinite(row[k]["all"])]
        row["ratio"] = row["ours"]["all"] / min(others)
        found.append(row)
        print(f"{name:46} n {a.shape[0]:7} {shown(row['ours']):>9} {shown(row['umfpack']):>9} {shown(row['superlu']):>9} ms, "
              f"ratio {row['ratio']:.2f}, {row['ours']['error']:.0e} {row['umfpack']['error']:.0e}"
              f"{', singular' if row['ours']['singular'] else ''}{', UMFPACK: singular' if row['umfpack']['singular'] else ''}", flush=True)  # fmt: skip
    if args.write and found:
        PAGE.write_text("\n".join(page(found, args.threads)) + "\n")


if __name__ == "__main__":
    main()
