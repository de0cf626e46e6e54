#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Solves beside what the machine gives: one section of bench/results/direct-cpu.md.

    bench/solve_rates.py [--build build] [--threads N] [--seconds 0.3] [--log FILE] [--machine TEXT] [--report bench/results/direct-cpu.md]

`bench/solve_rates` measures how many bytes of memory the threads read in a second, and the rate of dgemm and of our own update
kernel; then one right-hand side, which reads L twice, and 64, which take 4 operations for each entry of L and side. --log takes what
it printed on another machine."""
import argparse, datetime, os, platform, subprocess, sys

from page import geometric_mean, put_section, table

SPECS = ["nlpkkt 60", "nlpkkt 40", "helmholtz 3d 50", "lin nx=40 ny=40 nz=40", "control-distributed 30", "helmholtz 2d 700", "stokes mac 300",
         "optimal-control 5000"]
SIDES = 64


def lines_of(options):
    if options.log:
        return open(options.log, encoding="utf-8").read().splitlines()
    command = [os.path.join(options.build, "bench/solve_rates"), str(options.threads), str(options.seconds), *SPECS]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    p.add_argument("--seconds", type=float, default=0.3)
    p.add_argument("--log", help="what bench/solve_rates printed")
    p.add_argument("--machine", default=f"{platform.machine()}, {os.cpu_count()} cores")
    p.add_argument("--report", help="the page whose section is written")
    options = p.parse_args()
    lines = lines_of(options)
    given = next(line.split() for line in lines if line.startswith("machine "))
    threads, (read, triad, update, dgemm) = int(given[1]), map(float, given[2:6])
    best = max(dgemm, update)
    rows, of_memory, of_dgemm = [], [], []
    for line in lines:
        words = line[32:].split()
        if line.startswith("machine ") or len(words) != 6:
            continue
        nnz, (one, one_alone, many, many_alone) = int(words[1]), map(float, words[2:])
        bytes_s, rate = (lambda ms: 16e-6 * nnz / ms), (lambda ms: 4e-6 * SIDES * nnz / ms)
        of_memory.append(bytes_s(one_alone) / read)
        of_dgemm.append(rate(many_alone) / best)
        rows.append([line[:32].strip(), f"{8e-6 * nnz:.0f}", f"{one:.2f}", f"{bytes_s(one):.0f}", f"{bytes_s(one_alone):.0f}", f"{of_memory[-1]:.2f}",
                     f"{many:.1f}", f"{rate(many):.0f}", f"{rate(many_alone):.0f}", f"{of_dgemm[-1]:.2f}"])
    head = ["matrix", "L, MB", "one side, ms", "GB/s", "by the factor alone", "of memory", f"{SIDES} sides, ms", "GFLOP/s", "by the factor alone", "of the kernel"]
    text = "\n".join([
        f"{datetime.date.today()}, {options.machine}, {threads} threads; made by `bench/solve_rates.py`. Memory gives {read:.0f} GB/s to readers "
        f"({triad:.0f} to a triad);",
        f"dgemm takes {dgemm:.0f} GFLOP/s by OpenBLAS, square, 4096 (0: not linked), our update kernel {update:.0f} on strips of 384 rows in memory:",
        "the better of them is *the kernel*.",
        f"A solve of one side reads L twice, one of {SIDES} takes 4 operations for each entry and side. `mpk_solve` without refinement measures",
        "each solution, too; *by the factor alone* is `mpk_solve_part`. The shares are of that, and a factor that a cache holds may exceed 1.", "",
        table(head, rows, numbers=True),
        f"In the geometric mean {geometric_mean(of_memory):.2f} of memory, {geometric_mean(of_dgemm):.2f} of the kernel.", ""])
    if options.report:
        put_section(options.report, "Solves beside what the machine gives", text)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
