#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct LDLᵀ on a GPU beside cuDSS in one run, by class of matrix: make bench-gpu.

    bench/sparse_gpu.py [--build build] [--only PATTERN] [--repeat 5] [--within SECONDS] [--report bench/results/sparse-gpu.md] [--plot FILE.svg]

Some matrices at a time go through cuda-direct (ours), then through cuda-peer_cudss, both from BUILD/bench, on the same device. The
matrices are all files of METAPACK_MATRICES, or ../shared/matrices, or else data/, and generated ones (GENERATED). cuDSS is looked for
in CUDSS_LIBRARY, in BUILD/peers (tools/fetch-peers puts it there) and where the loader finds it; it is not needed, and a run without it
says so. It works with its threading layer, is warm, and tries every setting that cuda-peer_cudss names: pivots, matchings, emulated
doubles. The quickest right one counts; right is a componentwise backward error of its unrefined solution up to 1e-8. The exit code is 1
where our own answer is wrong: an error above 1e-14 after refinement of a matrix that is not singular, or an inertia other than cuDSS's
where both are right and no pivot is zero. `--within SECONDS` takes the smallest matrices first and begins none after that time. `--join FILE...` measures nothing: it reports the rows that earlier runs of parts have printed."""
import argparse, fnmatch, glob, math, os, re, subprocess, sys, time

import chart, page

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BOUND = 1e-8   # above it an unrefined answer is wrong
OURS_BOUND = 1e-14
# several sizes of each family: not those alone that work was steered by
GENERATED = ["nlpkkt 10", "nlpkkt 20", "nlpkkt 30", "nlpkkt 40", "nlpkkt 60", "helmholtz 3d 30", "helmholtz 3d 50", "helmholtz 3d 80",
             "control-distributed 15", "control-distributed 30", "control-distributed 50", "lin 20", "lin 40", "stokes mac 60",
             "stokes mac 300", "helmholtz 2d 200", "helmholtz 2d 700", "optimal-control 50", "optimal-control 500",
             "optimal-control 5000"]
# bytes of a compressed file that would take about as long: for the order of --within
AS_LONG_AS = {"optimal-control 50": 1e4, "nlpkkt 10": 3e4, "optimal-control 500": 5e4, "stokes mac 60": 8e4, "lin 20": 1e5, "helmholtz 2d 200": 1e5,
              "control-distributed 15": 1e5, "nlpkkt 20": 2e5, "helmholtz 3d 30": 2e5, "optimal-control 5000": 3e5, "nlpkkt 30": 4e5,
              "control-distributed 30": 5e5, "helmholtz 3d 50": 6e5, "lin 40": 6e5, "stokes mac 300": 6e5, "nlpkkt 40": 8e5, "helmholtz 2d 700": 9e5,
              "control-distributed 50": 1.5e6, "nlpkkt 60": 1.5e6, "helmholtz 3d 80": 3e6}
# the matrices of the table before, which work was steered by
STEERED = ["nlpkkt 20", "nlpkkt 40", "nlpkkt 60", "helmholtz 3d 50", "helmholtz 3d 80", "control-distributed 30", "control-distributed 50",
           "lin 40", "stokes mac 300", "helmholtz 2d 700", "optimal-control 5000", "cont-201", "case10000_goc_it01", "pilot87_it25",
           "boyd1", "bab5_it23", "maros_r7_it10", "uccase9_it37", "stocfor3_it23"]
WARM = "nlpkkt 4"  # goes first in every process, so that kernels are loaded; not counted
AT_ONCE = 12
AT_ONCE_BYTES, AT_ONCE_MOST = 6e5, 30  # with --within
HEADING = "The direct LDLᵀ beside cuDSS, by class"
NUMBER = r"([-+0-9.einfa]+)"
OURS = re.compile(rf"n (\d+) nnz.*analysis {NUMBER} s; omega {NUMBER} {NUMBER}, inertia (\d+) (\d+) (\d+).*, delayed (\d+).*"
                  rf"first {NUMBER} again {NUMBER} engine {NUMBER} solve {NUMBER} apply {NUMBER} apply \d+ {NUMBER} refined {NUMBER} there: again {NUMBER} "
                  rf"solve {NUMBER} ms, {NUMBER} TFLOP/s, {NUMBER} GB, predicted {NUMBER} GB; omega there {NUMBER} {NUMBER}, (\d+) steps"
                  rf".*, {NUMBER} GB with one, {NUMBER} GB less free")
OUR_NAMES = "n analysis omega refined positive negative zero delayed first second engine solve apply many many_refined again solve_there tflops gb predicted omega_there refined_there steps held_one held".split()
THEIRS = re.compile(rf"cuDSS \[(.*)\] analysis {NUMBER} factor {NUMBER} refactor {NUMBER} solve {NUMBER} refined {NUMBER} many {NUMBER} "
                    rf"refined {NUMBER} ms, omega {NUMBER} {NUMBER}, inertia (-?\d+) (-?\d+)(.*), {NUMBER} GB with one, {NUMBER} GB")
THEIR_NAMES = "setting analysis factor refactor solve refined many many_refined omega omega_refined positive negative told gb_one gb".split()
# what is compared: cuDSS's time or bytes over ours
MEASURES = {"refactorize": ("refactor", "again"), "apply": ("solve", "apply"), "refined solve": ("refined", "solve_there"),
            "64 right-hand sides": ("many", "many"), "these refined": ("many_refined", "many_refined"),
            "analysis": ("analysis", "analysis_ms"), "memory": ("gb_one", "held_one"), "memory after 64": ("gb", "held")}
CLASSES = [("below 0.3 ms", lambda t: t < 0.3), ("0.3 to 1 ms", lambda t: 0.3 <= t < 1), ("1 to 4 ms", lambda t: 1 <= t < 4),
           ("above 4 ms", lambda t: t >= 4)]


def folder():
    """Where the files are: METAPACK_MATRICES, ../shared/matrices or data/."""
    given = [os.environ.get("METAPACK_MATRICES"), os.path.join(ROOT, "../shared/matrices")]
    return next((f for f in given if f and os.path.isdir(f)), os.path.join(ROOT, "data"))


def symmetric(path):
    """Is the file a real symmetric matrix?"""
    import bz2, gzip, lzma
    opener = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}.get(os.path.splitext(path)[1], open)
    with opener(path, "rt", encoding="latin-1") as file:
        words = file.readline().lower().split()
    return words[:3] == ["%%matrixmarket", "matrix", "coordinate"] and words[3] in ("real", "integer") and words[4] == "symmetric"


def sources():
    """name -> what the drivers are given: a generator's words, or a file."""
    found = {g: g for g in GENERATED}
    for path in sorted(glob.glob(f"{folder()}/**/*.mtx*", recursive=True)):
        name = os.path.basename(path).split(".mtx")[0]
        if not name.endswith("_b") and symmetric(path):
            found.setdefault(name, path)
    return found


def parse(pattern, names, text):
    found = pattern.search(text)
    if not found:
        return None
    return {n: g if n in ("told", "setting") else float(g) for n, g in zip(names, found.groups())}


def run(command, environment, seconds):
    """All that the command says, by the name of the matrix with which a line begins."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, timeout=seconds)
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode(errors="replace") if isinstance(late.stdout, bytes) else late.stdout or ""
    lines = {}
    for one in text.splitlines():
        what, colon, rest = one.partition(": ")
        if colon:
            lines.setdefault(what, []).append(rest)
    return lines


def cudss(options):
    """Path of the library, or None with the reason."""
    given = os.environ.get("CUDSS_LIBRARY")
    found = [given] if given else sorted(glob.glob(os.path.join(options.build, "peers/cudss/**/libcudss.so*"), recursive=True))
    if found and os.path.exists(found[0]):
        return os.path.abspath(found[0])
    print("cuDSS is left out: no libcudss.so (tools/fetch-peers BUILD/peers cudss, or CUDSS_LIBRARY)", flush=True)
    return None


def best(lines):
    """cuDSS's quickest right setting, else the one with the least error, and what failed in words; None: no answer."""
    rows = [row for row in (parse(THEIRS, THEIR_NAMES, text) for text in lines) if row]
    for row in rows:
        row["right"] = row["omega"] <= BOUND
    words = next((text for text in lines if not THEIRS.search(text)), "" if lines else "no answer in time")
    right = [row for row in rows if row["right"]]
    if right:
        return min(right, key=lambda row: row["refactor"]), words
    return (min(rows, key=lambda row: row["omega"]) if rows else None), words


def wrong_of(ours, theirs, lines):
    """What is wrong with our own answer, in words."""
    if ours is None:
        return [(lines or ["no answer in time"])[-1][-200:]]
    wrong = []
    if ours["zero"] == 0 and not max(ours["refined"], ours["refined_there"]) <= OURS_BOUND:
        wrong.append(f"omega {ours['refined']:.1e}, of vectors on the device {ours['refined_there']:.1e}")
    if theirs and theirs["right"] and not theirs["told"] and ours["zero"] == 0 and \
            (theirs["positive"], theirs["negative"]) != (ours["positive"], ours["negative"]):
        wrong.append(f"inertia {ours['positive']:.0f} {ours['negative']:.0f}, cuDSS {theirs['positive']:.0f} {theirs['negative']:.0f}")
    return wrong


def size_of(what):
    return AS_LONG_AS.get(what) or (os.path.getsize(what) if os.path.exists(what) else 3e6)


def portions(chosen, within):
    """What goes through a driver at once."""
    if not within:
        yield from (chosen[k:k + AT_ONCE] for k in range(0, len(chosen), AT_ONCE))
        return
    some, size = [], 0
    for one in sorted(chosen, key=lambda c: size_of(c[1])):
        if some and (size + size_of(one[1]) > AT_ONCE_BYTES or len(some) == AT_ONCE_MOST):
            yield some
            some, size = [], 0
        some.append(one)
        size += size_of(one[1])
    if some:
        yield some


def measure(options):
    start = time.monotonic()
    environment = dict(os.environ)
    module = os.path.join(options.build, "libmetapack_cuda.so")
    if os.path.exists(module):
        environment.setdefault("METAPACK_CUDA_MODULE", os.path.abspath(module))
    library = cudss(options)
    chosen = [(name, what) for name, what in sources().items() if any(fnmatch.fnmatch(name, p) for p in options.only.split(","))]
    rows = []
    words = [f"repeat={options.repeat}", "nrhs=64", WARM]
    left = lambda: options.within - (time.monotonic() - start) if options.within else math.inf
    for some in portions(chosen, options.within):
        if left() < 1:
            print(f"not begun: {', '.join(name for name, _ in some)} and larger ones", flush=True)
            break
        files = [what for _, what in some]
        ours_of = run([os.path.join(options.build, "bench/cuda-direct"), *words, *files], environment, min(options.seconds, left()))
        theirs_of = run([os.path.join(options.build, "bench/cuda-peer_cudss"), *words, *files],
                        dict(environment, CUDSS_LIBRARY=library), max(1, min(options.seconds, left()))) if library else {}
        for name, what in some:
            text = " ".join(ours_of.get(what, []))
            ours = parse(OURS, OUR_NAMES, text)
            if ours:
                ours["analysis_ms"] = ours["analysis"] * 1e3
            theirs, failed = best(theirs_of.get(what, [])) if library else (None, "")
            row = dict(name=name, ours=ours, theirs=theirs, wrong=wrong_of(ours, theirs, ours_of.get(what)), words=failed)
            rows.append(row)
            print(line(row), flush=True)
            for w in row["wrong"]:
                print(f"  WRONG: {w}", flush=True)
            if failed:
                print(f"  cuDSS: {failed}", flush=True)
    return rows, library


def ratio(row, measure):
    """cuDSS's over ours; None where one of them has no figure."""
    if "ratios" in row:
        return row["ratios"][measure]
    theirs, ours = MEASURES[measure]
    o, t = row["ours"], row["theirs"]
    return t[theirs] / o[ours] if o and t and t[theirs] > 0 and o[ours] > 0 else None


def first_over_second(row):
    """Our first factorization over a second one, both with values on the host; None: not measured."""
    o = row["ours"]
    return o["first"] / o["second"] if o and o.get("second") else None


COLUMNS = ["matrix", "n", "cuDSS's setting", "refactor, cuDSS", "ours", "ratio", "first, ours", "apply", "refined", "64", "64 refined", "analysis",
           "GB, ours", "GB ratio", "GB ratio, 64", "cuDSS ω", "refined", "our ω", "refined", "zero pivots", "first / second"]


def cells(row):
    o, t = row["ours"], row["theirs"]
    show = lambda x, name, digits=3: f"{x[name]:.{digits}g}" if x else ""
    over = lambda measure: f"{ratio(row, measure):.2f}" if ratio(row, measure) else ""
    omega = "" if not t else f"{t['omega']:.0e}" if t["right"] else f"**{t['omega']:.0e}**"
    return [row["name"], f"{o['n']:.0f}" if o else "", t["setting"] if t else "", show(t, "refactor"), show(o, "again"), over("refactorize"),
            show(o, "first"), over("apply"), over("refined solve"), over("64 right-hand sides"), over("these refined"), over("analysis"),
            show(o, "held_one"), over("memory"), over("memory after 64"), omega, f"{t['omega_refined']:.0e}" if t else "", f"{o['omega']:.0e}" if o else "",
            (f"**{o['refined_there']:.0e}**" if row["wrong"] else f"{o['refined_there']:.0e}") if o else "**failed**",
            f"{o['zero']:.0f}" if o else "", f"{first_over_second(row):.2f}" if o else ""]


def line(row):
    return row["printed"] if "printed" in row else "| " + " | ".join(cells(row)) + " |"


def joined(files):
    """The rows that runs have printed; a later one of a matrix counts where it has more."""
    rows = {}
    for path in files:
        for text in open(path, encoding="utf-8"):
            c = [x.strip(" *") for x in text.split("|")[1:-1]]
            if not text.startswith("| ") or len(c) != len(COLUMNS) or c[0] == COLUMNS[0]:
                continue
            number = lambda name: float(c[COLUMNS.index(name)] or "nan")
            over = {m: float(c[at]) if c[at] else None for m, at in zip(MEASURES, [5, 7, 8, 9, 10, 11, 13, 14])}
            ours = dict(zero=number("zero pivots"), refined_there=float(c[18] or "nan"), first=float(c[20] or "nan"), second=1) if c[4] else None
            theirs = dict(refactor=number("refactor, cuDSS"), omega=number("cuDSS ω"), omega_refined=float(c[16]),
                          right="**" not in text.split("|")[16]) if c[2] else None
            if c[0] not in rows or theirs:
                rows[c[0]] = dict(name=c[0], ours=ours, theirs=theirs, ratios=over, printed=text.strip())
    return list(rows.values())


def classes(rows):
    """(name, rows) of each class, of rows where cuDSS is right."""
    right = [r for r in rows if r["ours"] and r["theirs"] and r["theirs"]["right"]]
    regular = [r for r in right if r["ours"]["zero"] == 0]
    yield "all", right
    yield "regular", regular
    for name, fits in CLASSES:
        yield f"regular, {name}", [r for r in regular if fits(r["theirs"]["refactor"])]
    yield "with zero pivots", [r for r in right if r["ours"]["zero"] > 0]
    yield "the 19 of before", [r for r in right if r["name"] in STEERED]
    yield "all others", [r for r in right if r["name"] not in STEERED]


def class_table(rows):
    text = "| cuDSS's over ours, where it is right: geometric mean (behind) | matrices | " + " | ".join(MEASURES) + \
        " | worst to refactorize | our first over our second (worst) |\n"
    text += "|---|---:|" + "---:|" * len(MEASURES) + "---|---:|\n"
    for name, some in classes(rows):
        if not some:
            continue
        cells_of = []
        for measure in MEASURES:
            values = [v for v in (ratio(r, measure) for r in some) if v]
            cells_of.append(f"{page.geometric_mean(values):.2f} ({sum(v < 1 for v in values)})" if values else "")
        worst = min(some, key=lambda r: ratio(r, "refactorize") or math.inf)
        first = [v for v in (first_over_second(r) for r in some) if v and v == v]
        text += f"| {name} | {len(some)} | " + " | ".join(cells_of) + f" | {worst['name']} {ratio(worst, 'refactorize'):.2f} | " + \
            (f"{page.geometric_mean(first):.2f} ({max(first):.2f}) |\n" if first else "|\n")
    return text


def report(rows, library, machine):
    text = f"{machine}. `make bench-gpu`; times in ms, medians. cuDSS has its threading layer, a warm analysis and its quickest right setting of " \
           "pivots, matchings and emulated doubles. Ratios are cuDSS's time, or bytes, over ours. *Refactorize*: values in device memory, ours " \
           "with scaling and verdict; *apply*: one right-hand side, unrefined; *refined*: ours until the backward error is at rounding, cuDSS's " \
           "two steps; *64*: so many right-hand sides; *memory*: by how much less is free after factorizations and refined solves of one right-hand side, " \
           "and after those of 64; what the pool keeps for whoever asks next counts as free. *First / second*: ours, values on the host.\n\n"
    ours = [r for r in rows if r["ours"]]
    if library:
        right = lambda bound, key: sum(1 for r in rows if r["theirs"] and r["theirs"][key] <= bound)
        text += f"Of {len(rows)} matrices cuDSS's best setting has a backward error of at most 1e-8 on " \
                f"{sum(1 for r in rows if r['theirs'] and r['theirs']['right'])} " \
                f"(refined {right(1e-8, 'omega_refined')}), of at most 1e-14 on {right(1e-14, 'omega')} (refined {right(1e-14, 'omega_refined')}); " \
                f"ours, refined, at most 1e-14 on {sum(r['ours']['refined_there'] <= 1e-14 for r in ours)}.\n\n"
        text += class_table(rows) + "\n"
    else:
        text += "Without cuDSS, which was not there.\n\n"
    text += "| " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * (len(COLUMNS) - 1) + "\n" + "\n".join(line(r) for r in rows) + "\n"
    return text


def plot(path, rows):
    groups = [(name, some) for name, some in classes(rows) if some]
    over = lambda measure: [page.geometric_mean([v for v in (ratio(r, measure) for r in some) if v]) for _, some in groups]
    chart.ratios(path, "cuDSS's time over ours, means where it is right: right of 1 ours is faster", [f"{name} ({len(some)})" for name, some in groups],
                 [(m, over(m)) for m in ("refactorize", "apply", "refined solve", "analysis")], [0.1, 0.2, 0.5, 1, 2, 5, 10])


def measured(o):
    """Rows, cuDSS's path and the machine in words."""
    for driver in ["cuda-direct", "cuda-peer_cudss"]:
        if not os.path.exists(os.path.join(o.build, "bench", driver)):
            sys.exit(f"no {driver} in {o.build}/bench: it is built where CUDA is (make bench-gpu)")
    try:
        machine = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout
    except OSError:
        machine = ""
    if not machine.strip():
        sys.exit("no GPU: nvidia-smi finds none; nothing was measured")
    rows, library = measure(o)
    return rows, library, machine.splitlines()[0] + (", " + os.path.basename(os.path.realpath(library)) if library else "")


def main():
    at = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    at.add_argument("--build", default="build")
    at.add_argument("--only", default="*", help="names, with * and ?, separated by commas")
    at.add_argument("--repeat", type=int, default=5)
    at.add_argument("--seconds", type=float, default=300, help="for a dozen matrices")
    at.add_argument("--within", type=float, default=0, help="seconds in all, the smallest matrices first; 0: all of them")
    at.add_argument("--report")
    at.add_argument("--plot")
    at.add_argument("--join", nargs="+", metavar="FILE", help="what earlier runs have printed")
    at.add_argument("--machine", default="", help="with --join: where they ran")
    o = at.parse_args()
    rows, library, machine = measured(o) if not o.join else (joined(o.join), True, o.machine)
    text = report(rows, library, machine)
    print("\n" + text)
    if o.report and rows:
        page.put_section(o.report, HEADING, text)
    if o.plot and any(r["theirs"] and r["theirs"]["right"] and r["ours"] for r in rows):
        plot(o.plot, rows)
    return 1 if any(r.get("wrong") for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
