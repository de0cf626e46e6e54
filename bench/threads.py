#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Is the direct solver ever slower with more threads? For a machine whose cores are idle; exit status 1: it is.

    bench/threads.py [--build build] [--matrices FOLDER] [--threads 1,2,4,8,16,32,64] [--rounds 3] [--budget 1200] [--only NAME]...
                     [--report bench/results/direct-cpu.md] [--json FILE]

`bench/cores` takes each matrix of the folder on every number of threads, more of them than there are cores among these, round after
round, the smallest files first, every other round from the largest number down. It tells how many workers each step called: where
these are as many on two numbers of threads (in the factorization before, too, whose numbers a solve reads), both ran the same program.
So what differs there is the noise of the machine: its 95th percentile is told for each step, and of minima, lower quartiles and
medians of the rounds the one is taken whose noise is least. Programs are compared, with all their rounds on all numbers of threads:
one is slower where it takes more than 1.1 times what the best one of a smaller number takes, more than noise does, and 20
microseconds longer, which is what a clock and a cold cache make of one call. What looks slower is run again in as many rounds, and
judged by all. The hash of D and x must be the same on every number."""
import argparse, datetime, json, os, platform, statistics, subprocess, sys, time

from cores import kind, shared
from page import put_section, table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STEPS = {"analysis": 1, "refactorize": 2, "one side": 3, "refined": 4, "eight": 5}  # columns of bench/cores: the time,
TEAMS = 11  # and as much after this one the workers
BOUND, LEAST_MS, FEW = 1.1, 0.02, 20
STATISTICS = {"minimum": min, "lower quartile": lambda v: sorted(v)[(len(v) - 1) // 4], "median": statistics.median}


def read(lines, times, teams, hashes):
    """Rows of bench/cores into times[step][threads], teams[step][threads], hashes."""
    for line in lines:
        words = line[32:].split()
        if len(words) < 17 or words[1] == "failed:":
            continue
        threads = int(words[0])
        for step, column in STEPS.items():
            if float(words[column]) > 0:
                times.setdefault(step, {}).setdefault(threads, []).append(float(words[column]))
            teams.setdefault(step, {}).setdefault(threads, set()).add(int(words[TEAMS + column]))
        hashes.add(words[8])


def programs(times, teams, step):
    """{workers: [threads]} of a step; a solve's with those of the factorization."""
    found = {}
    for threads in sorted(times.get(step, {})):
        of = tuple(sorted(teams[step][threads]))
        before = tuple(sorted(teams["refactorize"][threads])) if step not in ("analysis", "refactorize") else ()
        found.setdefault((of, before), []).append(threads)
    return found


def noise(all_times, all_teams, step, statistic):
    """[(times, name, threads, ms)]: what a program takes on a number of threads, over the least that it takes on a smaller one."""
    found = []
    for name, times in all_times.items():
        for threads in programs(times, all_teams[name], step).values():
            at = [statistic(times[step][t]) for t in threads]
            for k in range(1, len(at)):
                if min(at[:k]) > 0 and (at[k] > min(at[:k]) + LEAST_MS or at[k] < BOUND * min(at[:k])):
                    found.append((at[k] / min(at[:k]), name, threads[k], at[k]))
    return sorted(found)


def floor_of(found):
    """The 95th percentile; nothing is known from a few."""
    return max(1.0, found[len(found) * 95 // 100][0]) if len(found) >= FEW else 1.0


def slower(times, teams, floors, statistic):
    """[(times, step, workers, threads, ms, fewer)]: programs above the bound beside the best one of a smaller number of threads."""
    found = []
    for step in times:
        of = programs(times, teams, step)
        ms = {key: statistic([v for t in threads for v in times[step][t]]) for key, threads in of.items()}
        for key, threads in of.items():
            before = min((k for k in of if of[k][0] < threads[0]), key=ms.get, default=None)
            if before is None or not ms[before] > 0:
                continue
            ratio = ms[key] / ms[before]
            if ratio > max(BOUND, floors.get(step, 1.0)) and ms[key] > ms[before] + LEAST_MS:
                found.append((ratio, step, max(key[0]), threads[0], ms[key], of[before][0]))
    return sorted(found, reverse=True)


def check():
    """Made-up rows: a program that is slower is found, one too short, within the bound or the noise is not, nor the same one twice."""
    name = "a matrix with a long name that is cut"

    def row(threads, ms, hash, took=None):
        took = took or threads
        return (f"{name[:32]:32} {threads:2d} {ms} {2 * ms} 0.01 {ms} 1.0  {took} 1.0e-16 {hash} 1e6 0 0  " + " ".join([str(took)] * 6))

    times, teams, hashes = {}, {}, set()
    read([row(1, 4.0, "ab"), row(2, 3.0, "ab"), row(4, 3.6, "ab"), row(4, 3.2, "ab"), row(4, 3.2, "ab"), "no row", name[:32] + " 8 failed: why"], times, teams, hashes)
    assert teams["eight"] == {1: {1}, 2: {2}, 4: {4}} and hashes == {"ab"} and slower(times, teams, {}, statistics.median) == []
    read([row(8, 3.4, "cd", 4), row(64, 4.8, "ab")], times, teams, hashes)
    found = slower(times, teams, {}, statistics.median)
    assert sorted(r[1:4] for r in found) == [("analysis", 64, 64), ("refactorize", 64, 64), ("refined", 64, 64)] and found[0][5] == 2, found
    assert slower(times, teams, {"refined": 1.7}, statistics.median)[-1][1] != "refined" and hashes == {"ab", "cd"}
    same = noise({name: times}, {name: teams}, "analysis", min)
    assert [round(r[0], 3) for r in same] == [round(3.4 / 3.2, 3)] and floor_of(same) == 1.0 and floor_of(same * FEW) == same[0][0], same
    quiet = {"analysis": {1: [1.0], 2: [1.3]}}
    assert slower(quiet, {"analysis": {1: {1}, 2: {1}}}, {}, min) == [] and len(slower(quiet, {"analysis": {1: {1}, 2: {2}}}, {}, min)) == 1


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
    p.add_argument("--json", help="all times and workers, into this file")
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
    all_times, all_teams, hashes, missing = {}, {}, {}, []
    numbers = sorted(map(int, options.threads.split(",")))

    def measure(name, turn):
        words = ",".join(map(str, numbers[::-1] if turn % 2 else numbers))
        command = [os.path.join(options.build, "bench/cores"), words, str(options.seconds), "sides=8", files[name]]
        try:
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=max(1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            return False
        read(done.stdout.splitlines(), all_times.setdefault(name, {}), all_teams.setdefault(name, {}), hashes.setdefault(name, set()))
        return True

    def judge():
        """By which statistic, the noise of each step by it, and what is slower on each matrix."""
        found = {how: {step: noise(all_times, all_teams, step, f) for step in STEPS} for how, f in STATISTICS.items()}
        floors = {how: {step: floor_of(rows) for step, rows in of.items()} for how, of in found.items()}
        best = min(STATISTICS, key=lambda how: sum(floors[how].values()))
        return best, floors, found[best], {n: slower(all_times[n], all_teams[n], floors[best], STATISTICS[best]) for n in all_times}

    for turn in range(2 * options.rounds):
        again = names if turn < options.rounds else [n for n, rows in judge()[3].items() if rows]
        for name in again:
            if not (time.monotonic() < end and measure(name, turn)) and name not in missing and not all_times.get(name):
                missing.append(name)
    measured = [n for n in names if all_times.get(n)]
    best, floors, same, found = judge()
    worst = sorted(((*row, n) for n in measured for row in found[n]), reverse=True)
    different = [n for n in measured if len(hashes[n]) > 1]
    rows = []
    for step in STEPS:
        of, noisiest = [r for r in worst if r[1] == step], same[step][-1] if same[step] else (1.0, "-", 0, 0.0)
        rows.append([step, len({r[6] for r in of}), "; ".join(f"{n} {x:.2f} ({ms:.3g} ms by {team} workers on {t}; {fewer})" for x, _, team, t, ms, fewer, n in of[:8]),
                     " / ".join(f"{floors[how][step]:.2f}" for how in STATISTICS), f"{noisiest[0]:.2f} {noisiest[1]} ({noisiest[3]:.3g} ms on {noisiest[2]})"])
    text = (f"{datetime.date.today()}, {options.machine}; made by `bench/threads.py --threads {options.threads}`. {len(measured)} matrices, "
            f"{options.rounds} rounds or more, {best} of these.\n"
            f"Above {BOUND} times the best smaller number of threads, and above the noise of the same program on several numbers:\n\n"
            + table(["step", "matrices", "the worst (times; the smaller number last)", f"noise, 95th percentile by {', '.join(STATISTICS)}", "the noisiest"], rows)
            + f"\nThe same bits of D and x for every number of threads: {'no: ' + ', '.join(different) if different else 'yes, on all'}.\n"
            + (f"Left out for want of time: {', '.join(missing)}.\n" if missing else ""))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({n: {"times": all_times[n], "workers": {step: {t: sorted(w) for t, w in of.items()} for step, of in all_teams[n].items()}} for n in measured}, file)
    if options.report:
        put_section(options.report, "More threads than help", text)
    print(text)
    return 1 if worst or different else 0


if __name__ == "__main__":
    sys.exit(main())
