#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Structurally singular KKT systems of the shape of GHS_indef/boyd2, and what `metapack solve` says of each.

[H B'; B D]: H diagonal with two entries, B with twice as many rows as variables, two or three entries in each and one
or two dense rows, D = -1 (slacks) in all rows but the last nine, or 0. One line a case: n, status, seconds, peak.
usage: bench/rank_deficient.py [--command build/metapack] [-- ARGUMENTS OF metapack solve]"""
import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

CASES = [  # name, variables, dense rows, slacks, entries +-1
    ("no slacks, two dense rows", 20000, 2, False, False),
    ("slacks, one dense row", 33333, 1, True, False),
    ("the same, entries +-1", 33333, 1, True, True),
    ("slacks, one dense row", 155000, 1, True, False),
    ("the same, entries +-1", 155000, 1, True, True),
]


def write(path, variables, dense, slacks, signs):
    draw = random.Random(2)
    rows = 2 * variables
    pairs = set()
    for row in range(rows):
        for _ in range(3):
            column = min(max(row // 2 + draw.randint(-8, 8), 0), variables - 1)
            pairs.add((column, variables + row))
    for k in range(dense):
        pairs.update((column, variables + rows - 1 - k) for column in range(variables))
    n = variables + rows
    diagonal = range(variables, n - 9) if slacks else ()
    with open(path, "w") as out:
        out.write(f"%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {len(pairs) + 2 + len(diagonal)}\n")
        out.write("1 1 2\n2 2 2\n")
        for column, row in sorted(pairs):
            value = draw.choice((-1, 1)) * (1 if signs else draw.uniform(.01, 100))
            out.write(f"{row + 1} {column + 1} {value!r}\n")
        out.writelines(f"{i + 1} {i + 1} -1\n" for i in diagonal)
    return n


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="build/metapack")
    parser.add_argument("rest", nargs="*")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "a.mtx")
        for name, *shape in CASES:
            n = write(path, *shape)
            run = subprocess.run([args.command, "solve", path, "--json", "-q", "--method", "ldlt", *args.rest],
                                 capture_output=True, text=True)
            try:
                report = json.loads(run.stdout)
            except ValueError:
                sys.exit(f"{args.command}: {run.stderr.strip() or run.returncode}")
            seconds = sum(report["time_s"].values()) - report["time_s"]["read"]
            print(f"{name:28} {n:7} {report['status']:12} {report['rank']['verdict']:12} {seconds:7.2f} s "
                  f"{report['factor']['peak_bytes'] / 1e9:6.2f} GB", flush=True)


if __name__ == "__main__":
    main()
