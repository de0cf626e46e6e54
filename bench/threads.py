#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the direct solver ever slower with more threads? For a machine whose cores are idle; exit status 1: it is.

    bench/threads.py [--build build] [--matrices FOLDER] [--threads 1,2,4,8,16,32,64] [--rounds 3] [--budget 1200] [--only NAME]...
                     [--report bench/results/direct-cpu.md]

`bench/cores` takes each matrix of the folder on every number of threads, more of them than there are cores among these, round after
round, the smallest files first. A step is slower where the median of its rounds is more than 1.1 times that of a smaller number and
lasts 20 microseconds longer, which is what a clock and a cold cache make of one call. What looks slower is run again in as many
rounds, and judged by all. The hash of D and x must be the same on every number."""
import argparse, datetime, os, platform, statistics, subprocess, sys, time

from cores import kind, shared
from page import put_section, table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STEPS = {"analysis": 1, "refactorize": 2, "one side": 3, "refined": 4, "eight": 5}  # columns of bench/cores
BOUND, LEAST_MS = 1.1, 0.02


def read(lines, times, took, hashes):
    """Rows of bench/cores into times[step][threads], took[threads], hashes."""
    for line in lines:
        words = line[32:].split()
        if len(words) < 11 or words[1] == "failed:":
            continue
        threads = int(words[0])
        for step, column in STEPS.items():
            times.setdefault(step, {}).setdefault(threads, []).append(float(words[column]))
        took[threads] = int(words[6])
        hashes.add(words[8])


def slower(times):
    """[(times, step, threads, ms, fewer)]: steps whose median is above the bound with more threads than the best smaller number."""
    found = []
    for step, by_threads in times.items():
        middle = {t: statistics.median(values) for t, values in by_threads.items()}
        for t, ms in middle.items():
            fewer = min((f for f in middle if f < t), key=middle.get, default=None)
            if fewer and middle[fewer] > 0 and ms > BOUND * middle[fewer] and ms > middle[fewer] + LEAST_MS:
                found.append((ms / middle[fewer], step, t, ms, fewer))
    return sorted(found, reverse=True)


def check():
    """Made-up rows: a step that is slower is found, one of them too short or within the bound is not, and a median is not misled."""
    name, tail = "a matrix with a long name that is cut", " 1.0e-16 {} 1e6 0 0"
    row = lambda threads, ms, hash: f"{name[:32]:32} {threads:2d} {ms} {2 * ms} 0.01 {ms} 1.0  {threads}" + tail.format(hash)
    times, took, hashes = {}, {}, set()
    read([row(1, 4.0, "ab"), row(2, 3.0, "ab"), row(4, 3.6, "ab"), row(4, 3.2, "ab"), row(4, 3.2, "ab"), "no row", name[:32] + " 8 failed: why"], times, took, hashes)
    assert took == {1: 1, 2: 2, 4: 4} and hashes == {"ab"} and slower(times) == [], (took, hashes, slower(times))
    read([row(8, 3.4, "cd"), row(64, 4.8, "ab")], times, took, hashes)
    found = [(step, t, fewer) for _, step, t, _, fewer in slower(times)]
    steps = ["analysis", "refactorize", "refined"]
    assert sorted(found) == sorted((s, t, 2) for s in steps for t in (8, 64)) and hashes == {"ab", "cd"}, found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--matrices", action="append", help="folders of matrices (METAPACK_MATRICES or ../shared/matrices)")
    p.add_argument("--only", action="append", help="names of matrices; default: all")
    p.add_argument("--threads", default="1,2,4,8,16,32,64")
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("--seconds", type=float, default=0.005, help="of each step beyond three runs")
    p.add_argument("--budget", type=float, default=1200, help="seconds")
    p.add_argument("--machine", default=f"{platform.machine()}, {os.cpu_count()} cores")
    p.add_argument("--report", help="the page whose section is written")
    p.add_argument("--check", action="store_true", help="the judgement alone, on made-up rows")
    options = p.parse_args()
    if options.check:
        return check()
    end = time.monotonic() + options.budget
    files = shared(options.matrices or [os.environ.get("METAPACK_MATRICES") or os.path.join(ROOT, "../shared/matrices")])
    unknown = [name for name in options.only or [] if name not in files]
    if unknown or not files:
        sys.exit(f"{sys.argv[0]}: no such matrix: {', '.join(unknown) or 'the folder has none'}")
    names = sorted(options.only or files, key=lambda n: os.path.getsize(files[n]))
    all_times, took, hashes, missing = {}, {}, {}, []

    def measure(name):
        command = [os.path.join(options.build, "bench/cores"), options.threads, str(options.seconds), "sides=8", files[name]]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        read(done.stdout.splitlines(), all_times.setdefault(name, {}), took.setdefault(name, {}), hashes.setdefault(name, set()))
        return True

    for number in range(2 * options.rounds):
        for name in names:
            again = number < options.rounds or slower(all_times.get(name, {}))
            if again and not (time.monotonic() < end and measure(name)) and name not in missing and not all_times.get(name):
                missing.append(name)
    measured = [n for n in names if all_times.get(n)]
    worst = sorted(((*row, n) for n in measured for row in slower(all_times[n])), reverse=True)
    different = [n for n in measured if len(hashes[n]) > 1]
    rows = []
    for step in STEPS:
        of = [r for r in worst if r[1] == step]
        rows.append([step, len({r[5] for r in of}), "; ".join(f"{n} {x:.2f} ({ms:.3g} ms on {t}, which took {took[n][t]}; {fewer})" for x, _, t, ms, fewer, n in of[:6])])
    text = (f"{datetime.date.today()}, {options.machine}; made by `bench/threads.py --threads {options.threads}`. {len(measured)} matrices, medians of\n"
            f"{options.rounds} rounds or more. Above {BOUND} times the best smaller number of threads:\n\n"
            + table(["step", "matrices", "the worst (times; the smaller number last)"], rows)
            + f"\nThe same bits of D and x for every number of threads: {'no: ' + ', '.join(different) if different else 'yes, on all'}.\n"
            + (f"Left out for want of time: {', '.join(missing)}.\n" if missing else ""))
    if options.report:
        put_section(options.report, "More threads than help", text)
    print(text)
    return 1 if worst or different else 0


if __name__ == "__main__":
    sys.exit(main())
