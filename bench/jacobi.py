#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 3 and Table I of Thuerck 2019 (Fig. 6.4, 6.5 and Table 6.1 of Thuerck 2021) anew: Jacobi-LDLᵀ.

    bench/jacobi.py fig3|table1|device [MATRICES] [--build build] [--threads 2] [--report bench/results/incomplete.md]

fig3: (a) diagonal dominance of block rows, (b) epsilon, (c) block size, (d) inner and outer pivoting, (e) sweeps, by the
error of L D Lᵀ (bench/reconstruct.c), (f) time beside the level-scheduled factorization; bench/results/jacobi-fig3.svg.
table1: backward error and residual after 4 runs of GMRES(25).
Each writes its section of the report; rows go to BUILD/bench/jacobi-*.jsonl.
device: Fig. 3f and Table I on a GPU, by BUILD/bench/cuda-blocks and the command; two tables to standard output."""
import fnmatch, json, math, os, re, subprocess, sys

import chart
from incomplete import arguments, find, keep, picture, show, solve, write_section

SUBJECTS = ["lp_kkt/bab5_it05", "lp_kkt/bab5_it37", "qp_kkt/boyd1", "qp_kkt/cont-101", "suitesparse/tuma1",
            "generate lin nx=40 ny=40 nz=40"]
EPSILONS, SIZES, SWEEPS = [0.1, 0.01, 0.001, 0.0001], [1, 4, 8, 16, 32], [1, 2, 3, 4, 5, 6, 8, 10, 15]
PIVOTINGS = [("none", 1), ("complete", 1), ("none", 3), ("complete", 3)]
# Table I: log10 of the backward error and of the residual, for Jacobi(32, 0.1) and Multilevel(32, 0.1)
PUBLISHED = {"qpband": (-6, -8, -6, -8), "mario001": (-1, -1, -1, -1), "bab5": (-4, -1, -4, -1), "c-72": (-3, -1, -3, -1),
             "Si10H16": (-4, -3, -4, -3), "boyd1": (-5, -4, -5, -4), "Lin": (-4, -3, -4, -3), "map06": (-4, -2, -4, -2),
             "bley_xl1": (-3, -2, -3, -2), "c-big": (-4, -2, -4, -2), "co-100": (-3, -2, -3, -2), "bab3": (-3, -2, -4, -2),
             "G3_circuit": (-4, -3, -4, -3), "BenElechi1": (-5, -5, -5, -6), "af_shell7": (-5, -4, -5, -4)}
OURS = {"bab5": [("bab5, iterate 5", "lp_kkt/bab5_it05"), ("bab5, iterate 23", "lp_kkt/bab5_it23"),
                 ("bab5, iterate 37", "lp_kkt/bab5_it37"), ("bab5, iterate 46", "lp_kkt/bab5_it46")],
        "boyd1": [("boyd1", "qp_kkt/boyd1")], "Lin": [("Lin (generated)", "generate lin")],
        "map06": [("map10, its sibling", "lp_kkt/map10_it00")]}


def settings(method="jacobi", epsilon=0.1, block=32, pivoting="complete", stages=1, sweeps=8):
    words = {"method": method, "grid": "on", "block": block, "level": 0, "drop-tolerance": 0, "fill-factor": 0,
             "matching": "on", "pivoting": pivoting, "stages": stages}
    if method == "jacobi":
        words.update({"jacobi-epsilon": epsilon, "sweeps": sweeps})
    return words


def reconstruct(options, source, choices):
    """Rows of bench/reconstruct.c for a list of settings."""
    matrix = "generate " + source[1] if source[0] == "--generate" else source[0]
    lists = [",".join(f"{k}={v}" for k, v in c.items()) + f",threads={options.threads}" for c in choices]
    try:
        done = subprocess.run([os.path.join(options.build, "bench/reconstruct"), matrix, *lists], capture_output=True,
                              text=True, timeout=120)
        text = done.stdout
    except subprocess.TimeoutExpired as late:
        text = (late.stdout or b"").decode()
    rows = [json.loads(line) for line in text.splitlines() if line.endswith("}")]
    return rows + [{"error": None, "factor_s": None, "status": "failed"}] * (len(choices) - len(rows))


def fig3(options):
    everything, names = [], []
    series = {key: [] for key in "abcdef"}
    for subject in SUBJECTS:
        source = find(options, subject)
        if not source or not fnmatch.fnmatch(subject, options.only):
            continue
        name = subject.split("/")[-1].replace("generate ", "").split(" nx")[0]
        reference = [dict(settings("ildlt", pivoting=p), damping=e) for p in ("complete", "none") for e in (0.1, 0)]
        parts = {"r": reference, "b": [settings(epsilon=e) for e in EPSILONS], "c": [settings(block=k) for k in SIZES],
                 "d": [settings(pivoting=p, stages=s) for p, s in PIVOTINGS], "e": [settings(sweeps=s) for s in SWEEPS]}
        rows = reconstruct(options, source, [c for part in parts.values() for c in part])
        got = {}
        for key, part in parts.items():
            got[key], rows = rows[:len(part)], rows[len(part):]
            everything += [dict(row, matrix=subject, figure=key) for row in got[key]]
        names.append(name)
        for key in "bcde":
            series[key].append({"name": name, "y": [r["error"] for r in got[key]], "reference": got["r"][0]["error"]})
        base, quick = got["r"][0]["factor_s"], [r["factor_s"] for r in got["e"]]
        series["a"].append({"name": name, "y": got["r"][0].get("dominance", [None] * 3)})
        series["f"].append({"name": name, "y": [base / t if base and t else None for t in quick]})
        series["d"][-1]["others"] = [r["error"] for r in got["r"]]
        print(f"{name:20s} reference {show(base)} s, error {show(got['r'][0]['error'])}; Jacobi: " + ", ".join(
            f"eps {e:g}: {show(r['error'])}" for e, r in zip(EPSILONS, got["b"])), flush=True)

    def panel(key, title, ticks, label, log=True, bars=False):
        own = list(series[key])
        return {"title": title, "ticks": ticks, "series": own, "log": log, "bars": bars, "label": label}

    for key in "bcd":  # the reference as the last point along x
        for s in series[key]:
            s["y"] = s["y"] + [s["reference"]]
    pivots = ["no pivoting", "inner", "outer", "both"]
    panels = [panel("a", "(a) dominance of block rows / ‖A‖₁", ["least", "mean", "largest"], "", False, True),
              panel("b", "(b) error by ε", [f"{e:g}" for e in EPSILONS] + ["levels"], "ε; level-scheduled", True, True),
              panel("c", "(c) error by block size", [str(k) for k in SIZES] + ["levels, 32"], "rows of a block", True, True),
              panel("d", "(d) error by pivoting", [*pivots, "levels"], "", True, True),
              panel("e", "(e) error by sweeps", [str(s) for s in SWEEPS], "sweeps"),
              panel("f", "(f) level-scheduled time / Jacobi time", [str(s) for s in SWEEPS], "sweeps")]
    chart.draw(picture("jacobi-fig3.svg"), panels, names)
    lines = ["Error: ‖LDLᵀ − A‖∞ / ‖A‖∞ of the scaled, permuted matrix, estimated from products (Higham 1988, a lower bound, mostly",
             "exact). Regular grid of 32 rows, matching and scaling, no fill, nothing dropped, complete pivoting inside a block,",
             "ε = 0.1, δ = 0.95, 8 sweeps, where a panel does not vary it; outer pivoting: up to 3 stages. *Levels* is the",
             "level-scheduled factorization in the same setting, ε = 0.1 too; undamped, it replaces pivots below 1e-8. † not finite.",
             "The damping is ε ‖A‖₁ as printed: one dense row raises it above every pivot of the other rows.", "",
             "![dominance, errors, time](jacobi-fig3.svg)", "",
             "| matrix | " + " | ".join(f"ε {e:g}" for e in EPSILONS) + " | " + " | ".join(f"k {k}" for k in SIZES) + " | "
             + " | ".join(pivots) + " | levels | levels, " + " | levels, ".join(["undamped", "no inner", "neither"]) + " |",
             "|---|" + "---:|" * (len(EPSILONS) + len(SIZES) + len(PIVOTINGS) + 4)]
    for k, name in enumerate(names):
        values = series["b"][k]["y"][:-1] + series["c"][k]["y"][:-1] + series["d"][k]["y"][:-1] + series["d"][k]["others"]
        lines.append(f"| {name} | " + " | ".join("†" if v is None else f"{v:.1e}" for v in values) + " |")
    lines += ["", "| matrix | least, mean, largest dominance | error after " + " | ".join(map(str, SWEEPS)) + " sweeps | time of levels / "
              "of 5 sweeps |", "|---|---|" + "---:|" * (len(SWEEPS) + 1)]
    for k, name in enumerate(names):
        lines.append(f"| {name} | {', '.join(show(v, '.2g') for v in series['a'][k]['y'])} | " + " | ".join(
            "†" if v is None else f"{v:.1e}" for v in series["e"][k]["y"]) + f" | {show(series['f'][k]['y'][4], '.2f')} |")
    keep(options, "jacobi-fig3", everything)
    write_section(options, "jacobi-fig3", "Jacobi-LDLᵀ: ablations (2019, Fig. 3; 2021, Fig. 6.4 and 6.5)", lines)


def table1(options):
    rows, missing = [], []
    lines = ["After 4 runs of GMRES(25): **B** = log₁₀ of the normwise backward error, **R** = log₁₀ of the true relative residual,",
             "t: seconds of the factorization. Jacobi(32, 0.1) with 8 sweeps; ε is the best of " + ", ".join(
                 f"{e:g}" for e in EPSILONS) + " by the residual, as",
             "in the paper, and ε = 0.1 beside it. Multilevel: level-scheduled, outer pivoting in up to 3 stages.", "",
             "| matrix | Jacobi B | R | t | with ε | ε = 0.1: B | R | Multilevel B | R | t | published: Jacobi B | R | Multilevel B | R |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|"]
    for name, published in PUBLISHED.items():
        if name not in OURS:
            missing.append(name)
            continue
        for title, where in OURS[name]:
            source = find(options, where)
            if not source or not fnmatch.fnmatch(title, options.only):
                continue
            tried = [(e, gmres(options, source, settings(epsilon=e))) for e in (EPSILONS[:2] if name in ("Lin", "map06")
                                                                                 else EPSILONS)]
            levels = gmres(options, source, settings("ildlt", stages=3))
            usable = [(e, r) for e, r in tried if r.get("relative_residual") is not None]
            best = min(usable, key=lambda pair: pair[1]["relative_residual"], default=tried[0])
            rows += [dict(r, matrix=title, epsilon=e) for e, r in tried] + [dict(levels, matrix=title, epsilon=None)]
            lines.append(f"| {title} | {exponents(best[1])} | {seconds(best[1])} | {best[0]:g} | {exponents(tried[0][1])} | "
                         f"{exponents(levels)} | {seconds(levels)} | " + " | ".join(map(str, published)) + " |")
            print(lines[-1], flush=True)
    lines += ["", "Could not be had: " + ", ".join(missing) + "."]
    keep(options, "jacobi-table1", rows)
    write_section(options, "jacobi-table1", "Jacobi-LDLᵀ as a preconditioner (2019, Table I; 2021, Table 6.1)", lines)


def gmres(options, source, choice, more=()):
    words = [w for k, v in choice.items() for w in ([f"--{k}=on"] if (k, v) == ("grid", "on") else [f"--{k}", str(v)])]
    return solve(options, source, [*words, *more, "--krylov", "gmres", "--restart", "25", "--max-iterations", "100",
                                   "--tolerance", "1e-14"], 60)


def exponents(row):
    values = [row.get("backward_error", {}).get("normwise"), row.get("relative_residual")]
    return " | ".join("exact" if v == 0 else f"{math.log10(v):.1f}" if v and math.isfinite(v) else "†" for v in values)


def seconds(row):
    return show(row.get("time_s", {}).get("factorize"))


def engine_ms(options, source, choice):
    """Milliseconds of the device's engine with the same pattern again, and the number of level sets."""
    matrix = "generate " + source[1] if source[0] == "--generate" else source[0]
    words = ",".join(f"{k.replace('-', '_')}={v}" for k, v in choice.items())
    driver = [os.path.join(options.build, "bench/cuda-blocks"), "-t", str(options.threads), "-r", "7", "-n"]
    done = subprocess.run([*driver, f"{matrix} {words}"], capture_output=True, text=True, timeout=60)
    time = re.search(r"again [\d.e-]+ s \(engine ([\d.e-]+)\)", done.stdout)
    levels = re.search(r"(\d+) level sets", done.stdout)
    return 1e3 * float(time[1]) if time else None, int(levels[1]) if levels else None


def device(options):
    few = [1, 2, 3, 5, 8, 15]
    print("| matrix | level sets | levels, ms | " + " | ".join(f"{s}" for s in few) + " sweeps, ms | levels / 5 sweeps |")
    print("|---|---:|---:|" + "---:|" * (len(few) + 1))
    for subject in SUBJECTS:
        source = find(options, subject)
        if not source or not fnmatch.fnmatch(subject, options.only):
            continue
        base, levels = engine_ms(options, source, settings("ildlt"))
        times = [engine_ms(options, source, settings(sweeps=s))[0] for s in few]
        quick = times[few.index(5)]
        print(f"| {subject.split('/')[-1]} | {levels} | {show(base)} | " + " | ".join(map(show, times))
              + f" | {show(base / quick if base and quick else None)} |", flush=True)
    print("\n| matrix | Jacobi B | R | t | with ε | Multilevel B | R | t | published: Jacobi B | R | Multilevel B | R |")
    print("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
    for name, published in PUBLISHED.items():
        for title, where in OURS.get(name, []):
            source = find(options, where)
            if not source or not fnmatch.fnmatch(where, options.only):
                continue
            there = ["--device", "cuda"]
            tried = [(e, gmres(options, source, settings(epsilon=e), there)) for e in EPSILONS]
            levels = gmres(options, source, settings("ildlt", stages=3), there)
            usable = [(e, r) for e, r in tried if r.get("relative_residual") is not None]
            best = min(usable, key=lambda pair: pair[1]["relative_residual"], default=tried[0])
            print(f"| {title} | {exponents(best[1])} | {seconds(best[1])} | {best[0]:g} | {exponents(levels)} | {seconds(levels)} | "
                  + " | ".join(map(str, published)) + " |", flush=True)


def main():
    what = sys.argv[1] if len(sys.argv) > 1 else ""
    parser = arguments(__doc__)
    parser.usage = "%(prog)s fig3|table1|device [MATRICES] [options]"
    parts = {"table1": table1, "fig3": fig3, "device": device}
    if what not in parts:
        parser.error("say fig3, table1 or device first") if what not in ("-h", "--help") else parser.parse_args()
    options = parser.parse_args(sys.argv[2:])
    parts[what](options)


if __name__ == "__main__":
    main()
