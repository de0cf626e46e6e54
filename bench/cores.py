#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct solver on many cores, beside PARDISO, MUMPS and SSIDS: one section of bench/results/direct-cpu.md.

    bench/cores.py [--build build] [--matrices FOLDER] [--rows cores.jsonl] [--budget 600] [--peers pardiso,mumps_metis,ssids]
                   [--report bench/results/direct-cpu.md] [--only-write]

On as many threads as there are cores, and on 1, 2, 4, 8 of them, `bench/cores` times the analysis, a refactorization, one
right-hand side and 64 on twelve matrices; each peer does the same under `bench/driver.c`, with the quickest of its settings that
is right (backward error at most 1e-14). PARDISO's are tried on all cores; MUMPS and SSIDS take many times as long, and theirs are
tried on four. Peers that take fewer than all cores are run side by side, on cores of their own, and solve for one side alone. A refactorization is a second one with the same analysis for all. Then all matrices of the folder on one core and on all. What is most wanted comes first, and what the budget of
seconds does not allow is left out, and told. Rows are kept as they come; --only-write makes the section of those that there are."""
import argparse, concurrent.futures, datetime, glob, json, os, platform, subprocess, sys, tempfile, threading, time

import direct
from page import geometric_mean, put_section, table

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BOUND = 1e-14
SETTINGS = {"pardiso": ["matching", "default", "matching+pnd", "pnd"],  # all of them for files, two for generated ones, the first for the largest
            "mumps_metis": direct.SETTINGS["mumps_metis"], "ssids": direct.SETTINGS["ssids"]}
TITLE = {"pardiso": "PARDISO", "mumps_metis": "MUMPS", "ssids": "SSIDS"}
GENERATED = {"nlpkkt 60": "nlpkkt 60", "nlpkkt 40": "nlpkkt 40", "helmholtz 3d 50": "helmholtz 3d 50", "lin 40": "lin nx=40 ny=40 nz=40",
             "control-distributed 30": "control-distributed 30", "helmholtz 2d 700": "helmholtz 2d 700", "stokes mac 300": "stokes mac 300",
             "optimal-control 5000": "optimal-control 5000"}
FILES = ["cont-201", "case10000_goc_it01", "pilot87_it25", "boyd1"]
MODELLED = {"optimal-control 5000, model_threads = 16": "optimal-control 5000"}  # PARDISO's row is that of the second
LARGE = {"nlpkkt 60": 60, "nlpkkt 40": 20}  # seconds that one thread takes, at least: last, or not at all
TRIED_ON = 4  # threads on which the settings of those are tried that are run side by side
ALONE = ("pardiso",)
COUNTS = [1, 2, 4, 8, 16]
STEPS = ["analysis", "refactorize", "one side", "64 sides"]


def kind(path):
    """The name of a matrix without its endings."""
    name = os.path.basename(path)
    for end in (".xz", ".gz", ".mtx", ".bin"):
        name = name[:-len(end)] if name.endswith(end) else name
    return name


def shared(folders):
    """{name: path} of all matrices below folders; right-hand sides are none."""
    found = {}
    for folder in folders:
        for path in sorted(glob.glob(os.path.join(folder, "**", "*"), recursive=True)):
            if path.endswith((".mtx", ".mtx.xz", ".mtx.gz", ".bin")) and not kind(path).endswith("_b"):
                found.setdefault(kind(path), path)
    return found


class Measurements:
    def __init__(self, options):
        self.options, self.rows, self.left_out = options, [], []
        self.end = time.monotonic() + options.budget
        self.free, self.change = sorted(os.sched_getaffinity(0)), threading.Condition()
        if os.path.exists(options.rows):
            self.rows = [json.loads(line) for line in open(options.rows, encoding="utf-8") if line.strip()]

    def keep(self, row):
        with self.change, open(self.options.rows, "a", encoding="utf-8") as file:
            self.rows.append(row)
            file.write(json.dumps(row) + "\n")

    def left(self):
        return self.end - time.monotonic()

    def known(self, **what):
        return [r for r in self.rows if all(r.get(k) == v for k, v in what.items())]

    def run(self, command, seconds, environment=None, cores=None):
        """Lines that a program printed; those that it had until its time was over. cores: the only ones it may use."""
        command = ["taskset", "-c", ",".join(map(str, cores)), *command] if cores else command
        try:
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, timeout=max(1, min(seconds, self.left())))
            return done.stdout.splitlines()
        except subprocess.TimeoutExpired as over:
            return (over.stdout or b"").decode(errors="replace").splitlines() if isinstance(over.stdout, bytes) else (over.stdout or "").splitlines()

    def ours(self, names, specs, threads, seconds, limit):
        """Runs of bench/cores; one program for all specs."""
        model = ["model=16"] if names[0] in MODELLED else ["sides=8"] if names[0].startswith("shared/") else []
        command = [os.path.join(self.options.build, "bench/cores"), ",".join(map(str, threads)), str(seconds), *model, *specs]
        for line in self.run(command, limit):
            words = line[32:].split()
            if len(words) < 12 or words[1] == "failed:":
                continue
            key = line[:32].strip()
            name = next((n for n, s in zip(names, specs) if key in (s.removeprefix("generate ")[:32], os.path.basename(s)[:32])), key)
            number = lambda k: float(words[k])
            self.keep({"solver": "metapack", "matrix": name, "threads": int(words[0]), "analysis": number(1), "refactorize": number(2),
                       "one side": number(3), "refined": number(4), "eight": number(5), "took": int(words[6]), "error": number(7),
                       "hash": words[8], "flops": number(9), "64 sides": number(10), "peak_mb": number(11)})

    def peer(self, solver, name, raw, threads, setting, limit, cores=None):
        """A row of a peer, or of its failure. cores: it is run beside others, and takes each step once, or for half a second."""
        alone = solver in ALONE and cores is None
        sides = "64" if cores is None else "0"
        command = [direct.program(self.options.build, solver), raw, str(threads), setting, "2" if alone else "1",
                   str(limit / 8 if alone else 0.5), "wall", sides]
        for line in self.run(command, limit, direct.environment(self.options.build, solver, threads), cores):
            if not line.startswith("{"):
                continue
            row = json.loads(line)
            row.update(solver=solver, matrix=name, threads=threads)
            if "failed" not in row:
                row.update({"analysis": 1e3 * row["min_analyse_s"], "refactorize": 1e3 * row["min_refactor_s"], "one side": 1e3 * row["min_plain_solve_s"],
                            "64 sides": 1e3 * row.get("sides_s", float("nan"))})
            self.keep(row)
            return
        self.keep({"solver": solver, "matrix": name, "threads": threads, "setting": setting, "failed": f"no answer in {limit:.0f} s"})

    def side_by_side(self, jobs, limit):
        """Rows of [(solver, name, file, threads, setting)], as many at once as there are cores for."""
        def one(job):
            solver, name, raw, threads, setting = job
            with self.change:
                self.change.wait_for(lambda: len(self.free) >= threads)
                cores, self.free = self.free[:threads], self.free[threads:]
            try:
                if self.left() > 4:
                    self.peer(solver, name, raw, threads, setting, limit, cores)
                else:
                    self.left_out.append(f"{TITLE[solver]} {name} on {threads} threads")
            finally:
                with self.change:
                    self.free = sorted(self.free + cores)
                    self.change.notify_all()

        with concurrent.futures.ThreadPoolExecutor(max(1, len(self.free))) as pool:
            for done in [pool.submit(one, job) for job in jobs]:
                done.result()

    def least(self, name, threads):
        """Our row with the least of each figure."""
        rows = self.known(solver="metapack", matrix=name, threads=threads)
        return {k: min(r[k] for r in rows if k in r) for k in rows[0] if isinstance(rows[0][k], float)} if rows else None

    def best_setting(self, solver, name, most):
        """Of the rows on the threads on which settings are tried."""
        threads = most if solver in ALONE or name in LARGE else TRIED_ON
        right = [r for r in self.known(solver=solver, matrix=name, threads=threads) if r.get("backward_error", 1) <= BOUND]
        return min(right, key=lambda r: r["refactorize"], default=None)


STEPS_OF_ALL = ["analysis", "refactorize", "one side", "refined", "eight"]


def slower(one, all_of_them, bound=1.1):
    """The steps that take longer on more threads: [(times, step)]."""
    if not one or not all_of_them:
        return []
    return [(all_of_them[s] / one[s], s) for s in STEPS_OF_ALL if one[s] > 0 and all_of_them[s] > bound * one[s]]


def measure(m, most):
    options = m.options
    files = shared(options.matrices)
    specs = {name: "generate " + spec for name, spec in GENERATED.items()}
    specs.update({name: files[name] for name in FILES if name in files})
    specs.update({name: specs[other] for name, other in MODELLED.items()})
    fewer = [t for t in COUNTS if t < most]
    peers = [p for p in options.peers.split(",") if os.path.exists(direct.program(options.build, p))]
    with tempfile.TemporaryDirectory() as folder:
        raw = {}

        def convert(name):
            if name not in raw:
                path = os.path.join(folder, name.replace(" ", "-") + ".raw")
                m.run([os.path.join(options.build, "bench/convert"), specs[name], path], 30)
                raw[name] = path if os.path.exists(path) else None
            return raw[name]

        def drop(name):
            if raw.get(name):
                os.remove(raw.pop(name))

        for name in sorted(specs, key=lambda s: LARGE.get(s, 0)):  # on all cores
            if m.left() < 5:
                m.left_out.append(f"{name} on {most} threads")
                continue
            if not m.known(solver="metapack", matrix=name, threads=most):
                m.ours([name], [specs[name]], [most], options.seconds, 60)
            for solver in [p for p in peers if p in ALONE]:
                for setting in SETTINGS[solver][:1 if name in LARGE else 2 if name in GENERATED else 4]:
                    if name in MODELLED or m.known(solver=solver, matrix=name, threads=most, setting=setting):
                        continue
                    if m.left() < 4 + 4 * LARGE.get(name, 0) / most:
                        m.left_out.append(f"{TITLE[solver]} {name} on {most} threads")
                    elif convert(name):
                        m.peer(solver, name, raw[name], most, setting, 40)
            if name in LARGE:
                drop(name)
        every = [f for n, f in files.items() if not m.known(solver="metapack", matrix="shared/" + n)]
        if options.short and every and m.left() > 20:
            m.ours(["shared/" + kind(f) for f in every], every, [1, most], options.short, m.left() - 10)
            # clocks differ by a third from one moment to the next: what looks slower is run again, in turns
            again = [f for f in every if slower(m.least("shared/" + kind(f), 1), m.least("shared/" + kind(f), most), 1.05)]
            if again and m.left() > 20:
                m.ours(["shared/" + kind(f) for f in again], again, [1, most] * 3, options.short, min(30, m.left() - 10))
        smaller = [name for name in specs if name not in LARGE]
        wanted = [(name, t) for t in sorted(fewer, key=[1, 4, 2, 8, 16].index) for name in smaller]
        wanted += [(name, t) for name, s in LARGE.items() if s <= 30 for t in reversed(fewer)]
        for name, t in wanted:
            if m.known(solver="metapack", matrix=name, threads=t):
                continue
            if m.left() < 4 + 4 * LARGE.get(name, 0) / t:
                m.left_out.append(f"METAPACK {name} on {t} threads")
            else:
                m.ours([name], [specs[name]], [t], options.seconds, 60)
        beside = [p for p in peers if p not in ALONE]
        names = [n for n in specs if n not in MODELLED and n not in LARGE and peers and convert(n)]
        tried = [(p, n, raw[n], min(TRIED_ON, most), s) for n in names for p in beside for s in SETTINGS[p]]
        m.side_by_side([j for j in tried if not m.known(solver=j[0], matrix=j[1], threads=j[3], setting=j[4])], 45)
        chosen = {(p, n): m.best_setting(p, n, most) for n in names for p in peers}
        for t in sorted(fewer, reverse=True):
            m.side_by_side([(p, n, raw[n], t, best["setting"]) for (p, n), best in chosen.items()
                            if best and not m.known(solver=p, matrix=n, threads=t)], 60)
        chosen.update({(p, n): {"setting": SETTINGS[p][0]} for n, seconds in LARGE.items() if seconds <= 30 for p in beside})
        for (p, n), best in chosen.items():
            if best and m.left() > 4 and convert(n) and not m.known(solver=p, matrix=n, threads=most, setting=best["setting"]):
                m.peer(p, n, raw[n], most, best["setting"], 40)


def cell(row, step):
    value = row.get(step) if row else None
    return "" if value is None or value != value else f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def write(m, most):
    counts = sorted({r["threads"] for r in m.rows if not r["matrix"].startswith("shared/")} | {most})
    names = [n for n in [*GENERATED, *MODELLED, *FILES] if m.known(matrix=n)]

    ours = m.least

    solvers = [p for p in SETTINGS if m.known(solver=p)]

    def peer(solver, name, t):
        name = MODELLED.get(name, name)
        best = m.best_setting(solver, name, most)
        right = [r for r in m.known(solver=solver, matrix=name, threads=t) if best and r.get("setting") == best["setting"] and "refactorize" in r]
        return min(right, key=lambda r: r["refactorize"], default=None)

    text = [f"{datetime.date.today()}, {m.options.machine}; made by `bench/cores.py`. Milliseconds, the least of several; at",
            f"{' / '.join(map(str, counts))} threads. Each peer has the quickest of its settings that is right (backward error at most 1e-14 after at",
            "most two refinements): " + "; ".join(f"{TITLE[p]} {', '.join(SETTINGS[p])}" for p in solvers) + ". PARDISO's are tried on",
            f"{most} threads (the first two for generated matrices, the first for nlpkkt), the others' on {TRIED_ON}. Peers on fewer than {most} threads",
            "are run side by side, on cores of their own, and take each step once or for half a second. A refactorization is a second one with",
            f"the same analysis for all. Memory is what analysis, factorization and solve take beyond the input, at their peak, on {most} threads.", ""]
    for step in STEPS:
        rows, means = [], {(p, t): [] for p in solvers for t in counts}
        for name in names:
            cells, ratios = [], []
            for p in solvers:
                for t in counts:
                    x, y = ours(name, t), peer(p, name, t)
                    if x and y and name not in MODELLED and y[step] == y[step]:
                        means[p, t].append((y[step] / x[step], name))
                cells.append(" / ".join(cell(peer(p, name, t), step) or "–" for t in counts))
                a, b = ours(name, most), peer(p, name, most)
                ratios += [(b[step] / a[step], TITLE[p])] if a and b and b[step] == b[step] else []
            least = min(ratios, default=None)
            rows.append([name, " / ".join(cell(ours(name, t), step) or "–" for t in counts), *cells,
                         f"{least[0]:.2f} {least[1]}" if least and least[0] >= 1 else f"**{least[0]:.2f} {least[1]}**" if least else ""])
        text += [f"**{step}**; a peer's time over ours, geometric mean of the rows that both have (how many; the worst):", "",
                 table(["threads", *map(str, counts)],
                       [[TITLE[p], *(f"{geometric_mean([x for x, _ in means[p, t]]):.2f} ({len(means[p, t])}; {min(means[p, t])[1]} {min(means[p, t])[0]:.2f})"
                                     if means[p, t] else "" for t in counts)] for p in solvers]),
                 table([step, "METAPACK", *(TITLE[p] for p in solvers), f"best peer / ours at {most}"], rows)]
    rows = []
    for name in names:
        a, one = ours(name, most), ours(name, 1)
        if a:
            best = [peer(p, name, most) for p in solvers]
            rows.append([name, f"{1e-6 * a['flops'] / a['refactorize']:.0f}", f"{one['refactorize'] / most / a['refactorize']:.2f}" if one else "",
                         f"{a['peak_mb']:.0f}", *(f"{b['peak_mb']:.0f}" if b else "" for b in best), ", ".join(b["setting"] if b else "–" for b in best)])
    text += [f"Rate and efficiency of the refactorization on {most} threads; memory; the peers' settings.", "",
             table(["matrix", "GFLOP/s", "efficiency", "MB: METAPACK", *("MB: " + TITLE[p] for p in solvers), "settings"], rows)]
    every = sorted({r["matrix"] for r in m.rows if r["matrix"].startswith("shared/")})
    pairs = [(n, ours(n, 1), ours(n, most)) for n in every]
    pairs = [(n[len("shared/"):], a, b) for n, a, b in pairs if a and b]
    if pairs:
        text += [f"All {len(pairs)} shared matrices, one thread over {most}:", ""]
        rows = []
        for step in STEPS_OF_ALL:
            more = sorted(((x, n, b[step]) for n, a, b in pairs for x, s in slower(a, b) if s == step), reverse=True)
            rows.append([step, f"{geometric_mean([a[step] / b[step] for _, a, b in pairs if b[step] > 0]):.2f}", len(more),
                         "; ".join(f"{n} {x:.2f} ({ms:.3g} ms)" for x, n, ms in more[:8])])
        text += [table(["step", "mean", f"slower on {most} by more than a tenth", "the worst"], rows)]
    different = [n for n in {r["matrix"] for r in m.rows} if len({r["hash"] for r in m.known(solver="metapack", matrix=n)}) > 1]
    text += [f"The same bits of D and x for every number of threads: {'no: ' + ', '.join(sorted(different)) if different else 'yes, on all'}."]
    if m.left_out:
        text += [f"Left out for want of time: {', '.join(dict.fromkeys(m.left_out))}."]
    section = "\n".join(text) + "\n"
    if m.options.report:
        put_section(m.options.report, f"On {most} cores", section)
    print(section)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--build", default="build")
    p.add_argument("--peers", default=",".join(SETTINGS), help="those whose programs are in BUILD/bench")
    p.add_argument("--matrices", action="append", help="folders of matrices (METAPACK_MATRICES or ../shared/matrices)")
    p.add_argument("--rows", default="cores.jsonl")
    p.add_argument("--budget", type=float, default=600, help="seconds")
    p.add_argument("--seconds", type=float, default=0.25, help="of each step of the twelve, beyond three runs")
    p.add_argument("--short", type=float, default=0.01, help="the same of the other matrices; 0: without them")
    p.add_argument("--threads", type=int, default=0, help="how many are all; default: the cores")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    p.add_argument("--machine", default=f"{platform.machine()}, {os.cpu_count()} cores, {memory:.0f} GiB")
    p.add_argument("--report", help="the page whose section is written")
    p.add_argument("--only-write", action="store_true")
    options = p.parse_args()
    options.matrices = options.matrices or [os.environ.get("METAPACK_MATRICES") or os.path.join(ROOT, "../shared/matrices")]
    most = options.threads or len(os.sched_getaffinity(0))
    m = Measurements(options)
    if not options.only_write:
        measure(m, most)
    write(m, most)


if __name__ == "__main__":
    sys.exit(main())
