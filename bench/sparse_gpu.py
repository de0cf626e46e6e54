#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The direct LDLᵀ on a GPU beside cuDSS, row by row in one run: make bench-gpu.

    bench/sparse_gpu.py [--build build] [--only PATTERN] [--repeat 5] [--report bench/results/sparse-gpu.md] [--plot FILE.svg]

Each matrix goes through cuda-direct (ours) and then through cuda-peer_cudss, both from BUILD/bench, on the same device in the same
minute. cuDSS is looked for in CUDSS_LIBRARY, in BUILD/peers (tools/fetch-peers puts it there) and where the loader finds it; it is not
needed, and a run without it says so. It is measured with its defaults, and where its answer has a componentwise backward error above
the bound, also with each of its matchings; the quickest right setting counts, and where none is right the row says so. Matrices are
generated, or files of METAPACK_MATRICES, ../shared/matrices or data/; a file that is not there is said and left out. The exit code is 1
where our own answer is wrong: an error above the bound after refinement, or an inertia other than cuDSS's where both are right."""
import argparse, fnmatch, glob, math, os, re, subprocess, sys

import chart, page

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
BOUND = 1e-8   # above it an answer is wrong; ours is refined, theirs is not
OURS_BOUND = 1e-14
ROWS = ["nlpkkt 20", "nlpkkt 40", "nlpkkt 60", "helmholtz 3d 50", "helmholtz 3d 80", "control-distributed 30", "control-distributed 50",
        "lin 40", "stokes mac 300", "helmholtz 2d 700", "optimal-control 5000", "cont-201", "case10000_goc_it01", "pilot87_it25",
        "boyd1", "bab5_it23", "maros_r7_it10", "uccase9_it37", "stocfor3_it23"]
HEADING = "The direct LDLᵀ beside cuDSS, one run"
NUMBER = r"([-+0-9.einfa]+)"
OURS = re.compile(rf"analysis {NUMBER} s; omega {NUMBER} {NUMBER}, inertia (\d+) (\d+) (\d+).*, delayed (\d+).*engine {NUMBER} solve {NUMBER} "
                  rf"apply {NUMBER} there: again {NUMBER} solve {NUMBER} ms, {NUMBER} TFLOP/s, {NUMBER} GB, predicted {NUMBER} GB; omega there {NUMBER} {NUMBER}, (\d+) steps")
OUR_NAMES = "analysis omega refined positive negative zero delayed engine solve apply again solve_there tflops gb predicted omega_there refined_there steps".split()
THEIRS = re.compile(rf"cuDSS analysis {NUMBER} factor {NUMBER} refactor {NUMBER} solve {NUMBER} ms, omega {NUMBER}, inertia (-?\d+) (-?\d+)(.*), {NUMBER} GB")
THEIR_NAMES = "analysis factor refactor solve omega positive negative told gb".split()


def source(name):
    """What the drivers are given: a generator's words, or a file. None: it is not there."""
    if " " in name:
        return name
    folders = [os.environ.get("METAPACK_MATRICES"), os.path.join(ROOT, "../shared/matrices"), os.path.join(ROOT, "data")]
    found = [f for folder in folders if folder for f in sorted(glob.glob(f"{folder}/**/{name}.mtx*", recursive=True))]
    return found[0] if found else None


def parse(pattern, names, text):
    found = pattern.search(text)
    if not found:
        return None
    return {n: g if n == "told" else float(g) for n, g in zip(names, found.groups())}


def run(command, environment, seconds):
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=seconds)
    except subprocess.TimeoutExpired:
        return f"more than {seconds} s"
    return (done.stdout + done.stderr).strip()


def cudss(options):
    """Path of the library, or None with the reason."""
    given = os.environ.get("CUDSS_LIBRARY")
    found = [given] if given else sorted(glob.glob(os.path.join(options.build, "peers/cudss/**/libcudss.so*"), recursive=True))
    if found and os.path.exists(found[0]):
        return os.path.abspath(found[0])
    print("cuDSS is left out: no libcudss.so (tools/fetch-peers BUILD/peers cudss, or CUDSS_LIBRARY)", flush=True)
    return None


def best(options, library, what, environment):
    """cuDSS's quickest right setting, else the setting with the least error; None: no answer. Its words on what failed."""
    kept, words = None, ""
    for matching in [None, *range(1, 6)]:
        command = [os.path.join(options.build, "bench/cuda-peer_cudss"), f"repeat={options.repeat}"]
        command += [f"matching={matching}"] if matching is not None else []
        text = run(command + [what], dict(environment, CUDSS_LIBRARY=library), options.seconds)
        row = parse(THEIRS, THEIR_NAMES, text)
        if row is None:
            words = words or text[-100:]
            continue
        row["setting"] = "default" if matching is None else f"matching {matching}"
        row["right"] = row["omega"] <= BOUND
        key = lambda r: (not r["right"], r["factor"] if r["right"] else r["omega"])
        if kept is None or key(row) < key(kept):
            kept = row
        if matching is None and row["right"]:
            break
    return kept, words


def measure(options):
    environment = dict(os.environ)
    module = os.path.join(options.build, "libmetapack_cuda.so")
    if os.path.exists(module):
        environment.setdefault("METAPACK_CUDA_MODULE", os.path.abspath(module))
    library = cudss(options)
    rows = []
    for name in ROWS:
        if not any(fnmatch.fnmatch(name, p) for p in options.only.split(",")):
            continue
        what = source(name)
        if not what:
            print(f"{name}: left out, no such file", flush=True)
            continue
        text = run([os.path.join(options.build, "bench/cuda-direct"), f"repeat={options.repeat}", "nrhs=1", what], environment, options.seconds)
        ours = parse(OURS, OUR_NAMES, text)
        theirs, words = best(options, library, what, environment) if library else (None, "")
        wrong = []
        if ours is None:
            wrong.append(text[-200:])
        elif not max(ours["refined"], ours["refined_there"]) <= OURS_BOUND:
            wrong.append(f"omega {ours['refined']:.1e}, of vectors on the device {ours['refined_there']:.1e}")
        if ours and theirs and theirs["right"] and not theirs["told"] and \
                (theirs["positive"], theirs["negative"]) != (ours["positive"], ours["negative"]):
            wrong.append(f"inertia {ours['positive']:.0f} {ours['negative']:.0f}, cuDSS {theirs['positive']:.0f} {theirs['negative']:.0f}")
        rows.append(dict(name=name, ours=ours, theirs=theirs, wrong=wrong, words=words))
        print(line(rows[-1]), flush=True)
        for w in wrong:
            print(f"  WRONG: {w}", flush=True)
        if words:
            print(f"  cuDSS: {words}", flush=True)
    return rows, library


def show(row, name, digits=3):
    return "" if not row else f"{row[name]:.{digits}g}"


COLUMNS = ["matrix", "cuDSS analysis", "ours", "cuDSS factor", "engine", "ratio", "cuDSS refactor", "ours", "cuDSS solve", "apply",
           "with refinement", "cuDSS ω", "our ω", "refined", "inertia", "cuDSS GB", "ours", "predicted"]


def cells(row):
    o, t = row["ours"], row["theirs"]
    omega = "" if not t else f"{t['omega']:.0e}" if t["right"] else f"**{t['omega']:.0e}**"
    if t and t["setting"] != "default":
        omega += f" ({t['setting']})"
    return [row["name"], show(t, "analysis"), f"{o['analysis'] * 1e3:.3g}" if o else "", show(t, "factor"), show(o, "engine"),
            f"{t['factor'] / o['engine']:.2f}" if o and t else "", show(t, "refactor"), show(o, "again"), show(t, "solve"), show(o, "apply"),
            show(o, "solve_there"), omega, f"{o['omega']:.0e}" if o else "", f"{o['refined_there']:.0e}" if o else "failed",
            "**differs**" if o and any(w.startswith("inertia") for w in row["wrong"]) else "equal" if o and t and t["right"] and not t["told"] else "",
            show(t, "gb"), show(o, "gb"), show(o, "predicted")]


def line(row):
    return "| " + " | ".join(cells(row)) + " |"


def mean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def report(rows, library, machine):
    both = [r for r in rows if r["ours"] and r["theirs"]]
    text = f"{machine}. `make bench-gpu`; times in ms, medians. *Refactor*: values in device memory, ours with scaling and verdict; " \
           "*apply*: one right-hand side without refinement; *with refinement*: `mpk_solve`, vectors in device memory; *predicted*: before " \
           "anything was allocated. Bold: a wrong answer.\n\n"
    text += "| " + " | ".join(COLUMNS) + " |\n|---|" + "---:|" * (len(COLUMNS) - 1) + "\n" + "\n".join(line(r) for r in rows) + "\n\n"
    if both:
        text += f"Geometric means of cuDSS's time over ours on {len(both)} matrices: factorization " \
                f"{mean([r['theirs']['factor'] / r['ours']['engine'] for r in both]):.2f}, refactorization " \
                f"{mean([r['theirs']['refactor'] / r['ours']['again'] for r in both]):.2f}, solve " \
                f"{mean([r['theirs']['solve'] / r['ours']['apply'] for r in both]):.2f}, with refinement " \
                f"{mean([r['theirs']['solve'] / r['ours']['solve_there'] for r in both]):.2f}; of memory " \
                f"{mean([r['theirs']['gb'] / r['ours']['gb'] for r in both if r['theirs']['gb'] > 0]):.2f}.\n"
    elif not library:
        text += "Without cuDSS, which was not there.\n"
    return text


def plot(path, both):
    def times(ours, theirs):
        return [r["theirs"][theirs] / r["ours"][ours] for r in both]
    chart.ratios(path, "cuDSS's time over ours: right of 1 ours is faster", [r["name"] for r in both],
                 [("factorization", times("engine", "factor")), ("refactorization", times("again", "refactor")),
                  ("solve", times("apply", "solve")), ("refined solve over theirs unrefined", times("solve_there", "solve"))],
                 [0.5, 1, 2, 5, 10])


def main():
    at = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    at.add_argument("--build", default="build")
    at.add_argument("--only", default="*", help="names, with * and ?, separated by commas")
    at.add_argument("--repeat", type=int, default=5)
    at.add_argument("--seconds", type=float, default=300, help="for one matrix and one setting")
    at.add_argument("--report")
    at.add_argument("--plot")
    o = at.parse_args()
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
    text = report(rows, library, machine.splitlines()[0] + (", " + os.path.basename(os.path.realpath(library)) if library else ""))
    print("\n" + text)
    if o.report and rows:
        page.put_section(o.report, HEADING, text)
    if o.plot and any(r["theirs"] and r["ours"] for r in rows):
        both = [r for r in rows if r["ours"] and r["theirs"]]
        plot(o.plot, both)
    return 1 if any(r["wrong"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
