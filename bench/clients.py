#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Ipopt on METAPACK beside Ipopt on MUMPS: the problems of bench/clients/problems.py, each in a process of its own.

  bench/clients.py [--build build] [--only GLOB,...] [--quick] [--ipopts 3.14,3.11] [--repeat N] [--rows FILE]
                   [--report bench/results/clients.md]

Needs a Python with casadi and numpy (make check-clients makes one in build/clients/ipopt). Two Ipopts: the one in
CasADi's wheel (3.14) and, where it is installed, the distribution's (Debian 12: 3.11.9). Exit code 1 if METAPACK fails
where MUMPS does not. A run is a success if Ipopt ends as with MUMPS, or better."""
import argparse, datetime, fnmatch, json, math, os, platform, re, subprocess, sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
# What takes longer than a few seconds with either solver: left out by --quick.
LARGE = ("*-200000", "*-100000", "*-200", "*-150", "*-250", "*-300", "rocket-10000", "opf-14x1000", "distributed-3d-*",
         "hang-glider-*", "lv4-*")
LIMITED_MEMORY = ("hs*", "opf-5", "opf-9", "cart-pole-*", "van-der-pol-*", "portfolio-*", "concave-*", "waechter-*")
GOOD = ("Solve_Succeeded", "Solved_To_Acceptable_Level")


def matches(name, patterns):
    return any(fnmatch.fnmatch(name, p) for p in patterns)


def find_debian():
    """The distribution's libipopt of major version 1 (3.11), or None."""
    for folder in ("/usr/lib", f"/usr/lib/{platform.machine()}-linux-gnu", "/usr/lib64"):
        path = os.path.join(folder, "libipopt.so.1")
        if os.path.exists(path):
            return path
    return None


def run(args, name, solver, ipopt, limited, repeat):
    library = os.path.join(os.path.abspath(args.build), "ipopt", "libhsl.so")
    command = [sys.executable, os.path.join(HERE, "clients", "ipopt_run.py"), name, "--solver", solver,
               "--library", library]
    if ipopt:
        command += ["--ipopt", ipopt]
    if limited:
        command += ["--option", "hessian_approximation=limited-memory"]
    environment = dict(os.environ, OMP_NUM_THREADS=str(args.threads), OPENBLAS_NUM_THREADS=str(args.threads),
                       LD_LIBRARY_PATH=os.path.dirname(library))
    environment.pop("METAPACK_THREADS", None)
    best = None
    for _ in range(repeat):
        try:
            out = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=args.seconds)
            row = json.loads(out.stdout.strip().splitlines()[-1])
        except subprocess.TimeoutExpired:
            row = {"status": "Time_Limit"}
        except (IndexError, ValueError):
            row = {"status": "Crash", "message": (out.stderr or out.stdout)[-500:]}
        if best is None or row.get("linear_s", math.inf) < best.get("linear_s", math.inf):
            best = row
        if best["status"] not in GOOD or best["linear_s"] > 20:
            break
    defaults = {"problem": name, "solver": solver, "n": 0, "m": 0, "objective": math.nan, "iterations": -1,
                "linear_s": math.nan, "wall_s": math.nan, "loaded": "", "version": ""}
    best = {**defaults, **best, "ipopt": "3.11" if ipopt else "3.14", "limited": limited}
    if best["loaded"] == "NOT LOADED":
        best["status"] = "Library_Not_Loaded"
    return best


def verdict(ours, peer):
    """'' if as good as the peer; else what differs, in words. The second: is that a failure?"""
    if ours["status"] == peer["status"]:
        if ours["status"] in GOOD:
            apart = abs(ours["objective"] - peer["objective"])
            if not apart <= 1e-5 * (1 + abs(peer["objective"])):
                better = ours["objective"] < peer["objective"]
                return ("a better" if better else "a worse") + " local minimum", False
        return "", False
    if ours["status"] in GOOD and peer["status"] not in GOOD:
        return "MUMPS: " + peer["status"], False
    if ours["status"] not in GOOD and peer["status"] not in GOOD:
        return f"{ours['status']}, MUMPS: {peer['status']}", False
    if ours["status"] == "Solved_To_Acceptable_Level":
        return "acceptable level only", False
    return ours["status"], True


def pairs(rows):
    """(ours, peer) for each problem, Ipopt and Hessian."""
    peers = {(r["problem"], r["ipopt"], r["limited"]): r for r in rows if r["solver"] == "mumps"}
    return [(r, peers[r["problem"], r["ipopt"], r["limited"]]) for r in rows if r["solver"] != "mumps"]


def machine():
    model = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
    return f"{model[1] if model else platform.machine()}, {os.cpu_count()} cores, {platform.system()}"


def seconds(value):
    return "" if math.isnan(value) else f"{value:.3f}"


def summary(some):
    counted = [(a, b) for a, b in some if a["iterations"] >= 0 and b["iterations"] >= 0
               and a["status"] == b["status"] and a["status"] in GOOD]
    mine, other = (sum(p[k]["iterations"] for p in counted) for k in (0, 1))
    slow = [(a, b) for a, b in some if max(a["linear_s"], b["linear_s"]) >= 1]
    ratio = [b["linear_s"] / a["linear_s"] for a, b in slow if a["linear_s"] > 0 and b["linear_s"] > 0]
    mean = math.exp(sum(map(math.log, ratio)) / len(ratio)) if ratio else math.nan
    failures = [a for a, b in some if verdict(a, b)[1]]
    return len(some), len(failures), mine, other, len(slow), mean, sum(r < 1 for r in ratio)


def report(args, rows):
    every = pairs(rows)
    lines = ["## Ipopt", "",
             f"Made by `bench/clients.py` on {datetime.date.today()}: {machine()}, {args.threads} thread(s).",
             "Ipopt " + " and ".join(sorted({r["version"] for r in rows if r["version"]})) + "; the older is Debian's "
             "binary with its MUMPS 5.5.1, the newer that of the wheel `casadi` with its MUMPS. The same process, options "
             "and functions for both solvers but for the option `linear_solver` (and `hsllib`).",
             "Linear algebra is Ipopt's `PDSystemSolverSolveOnce`, processor seconds (user and system): analysis, "
             "factorizations and solves, with Ipopt's assembly of the system. Problems: [bench/clients/problems.py](../clients/problems.py), "
             "at most 500 iterations and 120 s.",
             f"Load of the machine at the end: {os.getloadavg()[2]:.0f} (in the last quarter of an hour); what is measured are "
             f"processor seconds, but Time_Limit is {args.seconds:.0f} s on the wall. MA27 and MA57 were not at hand.", "",
             "| runs | problems | failures where MUMPS has none | iterations, METAPACK | MUMPS | "
             "≥ 1 s in one of them | MUMPS / METAPACK, time, geometric mean | of these slower |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    groups = [(f"{v}, {'limited memory' if m else 'exact Hessian'}",
               [p for p in every if p[0]["ipopt"] == v and p[0]["limited"] == m])
              for v in ("3.14", "3.11") for m in (False, True)]
    for title, some in groups:
        if some:
            count, bad, mine, other, slow, mean, lost = summary(some)
            lines.append(f"| {title} | {count} | {bad} | {mine} | {other} | {slow} | "
                         f"{'' if math.isnan(mean) else f'{mean:.2f}'} | {lost} |")
    lines += ["", "Iterations are summed over the problems that both solve.", ""]
    for title, some in groups:
        named = [(a, verdict(a, b)[0]) for a, b in some if verdict(a, b)[0]]
        if named:
            lines.append(f"Ipopt {title}, what is not the same: "
                         + "; ".join(f"{a['problem']} ({words})" for a, words in named) + ".")
    groups_of = __import__("problems").PROBLEMS
    for title, some in groups:
        if not some:
            continue
        lines += ["", f"### Ipopt {title}", "",
                  "| problem | group | variables | constraints | status | objective | iterations | MUMPS | linear algebra, "
                  "s | MUMPS, s | |", "|---|---|---:|---:|---|---:|---:|---:|---:|---:|---|"]
        for a, b in some:
            words = verdict(a, b)[0]
            lines.append(f"| {a['problem']} | {groups_of[a['problem']][0]} | {a['n']} | {a['m']} | "
                         f"{a['status'].replace('_', ' ').lower()} | {a['objective']:.7g} | {a['iterations']} | "
                         f"{b['iterations']} | {seconds(a['linear_s'])} | {seconds(b['linear_s'])} | {words} |")
    text = "\n".join(lines) + "\n"
    path = args.report
    old = open(path, encoding="utf-8").read() if os.path.exists(path) else \
        "# Programs that use METAPACK\n\nEach part names the command that made it.\n"
    head, found, rest = old.partition("## Ipopt\n")
    if found:
        after = re.search(r"^## ", rest, re.M)
        rest = rest[after.start():] if after else ""
        new = head + text + ("\n" + rest if rest else "")
    else:
        new = old.rstrip("\n") + "\n\n" + text
    with open(path, "w", encoding="utf-8") as file:
        file.write(new)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", default="*")
    parser.add_argument("--quick", action="store_true", help="without the large problems")
    parser.add_argument("--ipopts", default="3.14,3.11", help="3.14: CasADi's; 3.11: the distribution's, if it is there")
    parser.add_argument("--repeat", type=int, default=1, help="keep the fastest of N")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=300, help="limit of one run")
    parser.add_argument("--rows", help="append each run to this file, and take from it what is there")
    parser.add_argument("--report")
    args = parser.parse_args()
    sys.path.insert(0, os.path.join(HERE, "clients"))
    from problems import PROBLEMS
    ipopts = [None] if "3.14" in args.ipopts else []
    if "3.11" in args.ipopts and find_debian():
        ipopts.append(find_debian())
    elif "3.11" in args.ipopts:
        print("no libipopt.so.1 here (Debian: coinor-libipopt1v5): without Ipopt 3.11")
    names = [n for n in PROBLEMS if matches(n, args.only.split(",")) and not (args.quick and matches(n, LARGE))]
    rows = [json.loads(line) for line in open(args.rows)] if args.rows and os.path.exists(args.rows) else []
    known = {(r["problem"], r["solver"], r["ipopt"], r["limited"]): r for r in rows}
    failures = 0
    for ipopt in ipopts:
        for limited in (False, True):
            for name in names:
                if limited and not matches(name, LIMITED_MEMORY):
                    continue
                solver = "ma86" if limited and ipopt else "ma97"  # 3.11 hands ma97 one right-hand side
                both = []
                for which in ("mumps", solver):
                    key = (name, which, "3.11" if ipopt else "3.14", limited)
                    if key not in known:
                        known[key] = run(args, name, which, ipopt, limited, args.repeat)
                        rows.append(known[key])
                        if args.rows:
                            with open(args.rows, "a") as file:
                                file.write(json.dumps(known[key]) + "\n")
                    both.append(known[key])
                peer, ours = both
                words, bad = verdict(ours, peer)
                failures += bad
                print(f"{'FAIL' if bad else 'ok  '} {ours['ipopt']} {name:28} {ours['status'][:26]:26} "
                      f"{ours['objective']:15.8g} its {ours['iterations']:4} {peer['iterations']:4} "
                      f"linear {ours['linear_s']:8.3f} {peer['linear_s']:8.3f} s {words}", flush=True)
    if args.report:
        order = {n: k for k, n in enumerate(PROBLEMS)}
        report(args, sorted(rows, key=lambda r: order.get(r["problem"], 0)))
    print(f"{len(pairs(list(known.values())))} runs, {failures} failed")
    sys.exit(failures != 0)


if __name__ == "__main__":
    main()
