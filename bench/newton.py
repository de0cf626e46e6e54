#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Table 2.1, Fig. 2.2b and Fig. 3.2 of Thuerck 2021 anew: the three systems of an interior-point step, and what orders do to a matrix.

    bench/newton.py [MATRICES] [--build build] [--report bench/results/newton.md]

By BUILD/example_quadratic --only systems (examples/quadratic/three.c): K_U, K_0 and K_+ of two linear programs at each
step, one with a solution at which as many unknowns are positive as there are constraints, one degenerate; and by
`metapack analyse` on a power network (suitesparse_small/bcspwr10, else data/). Nothing here is a time."""
import json, math, os, re, subprocess

import chart
from incomplete import ROOT, arguments, command, find, machine, picture, version

PROGRAMS = ["linear 3000 1200", "degenerate 3000 1200"]
ORDERINGS = ["natural", "rcm", "amd", "nd"]
NETWORKS = ["suitesparse_small/bcspwr10", "acopf/case2869_pegase_it01", "acopf/ACTIVSg200_AC_02"]
NAMES = ["K_U", "K_0", "K_+"]
PROPERTIES = {"K_U": ("no", "—", "LU, GMRES"), "K_0": ("yes", "indefinite", "LDLᵀ, SQMR"), "K_+": ("yes", "positive", "Cholesky, PCG")}


def systems(options, spec):
    """{name: (order, entries)}, and a row a step: mu, conditions, backward errors."""
    text = subprocess.run([os.path.join(options.build, "example_quadratic"), "--only", "systems", "--seeds", "1", spec],
                          stdout=subprocess.PIPE, text=True, timeout=300, check=True).stdout
    sizes = {m[1]: (int(m[2]), int(m[3])) for m in re.finditer(r"^(K_\S): order (\d+), (\d+) entries", text, re.M)}
    steps = []
    for line in re.findall(r"^step .*$", text, re.M):
        each = re.findall(r"condition (\S+), backward error ([\d.e+-]+)", line)
        steps.append({"mu": float(re.search(r"mu (\S+):", line)[1]), "condition": [float(c) for c, _ in each], "backward": [float(b) for _, b in each],
                      "inertia": re.search(r"inertia (.*)", line)[1]})
    return sizes, steps


def network(options):
    for name in NETWORKS:
        if find(options, name):
            return name, find(options, name)
    return None, None


def main():
    parser = arguments(__doc__)
    parser.set_defaults(report=os.path.join(ROOT, "bench/results/newton.md"))
    options = parser.parse_args()
    lines, panels = [], []
    for spec in PROGRAMS:
        sizes, steps = systems(options, spec)
        panels.append({"title": spec, "ticks": [str(k) for k in range(len(steps))], "label": "step; log₁₀ of the condition",
                       "series": [{"name": name, "y": [math.log10(s["condition"][k]) for s in steps]} for k, name in enumerate(NAMES)]})
        if not lines:
            lines += ["## The three systems (Table 2.1)", "", f"`{spec}`:", "", "| | order | entries | symmetric | definite | solvers |", "|---|---:|---:|---|---|---|"]
            lines += [f"| {name} | {sizes[name][0]} | {sizes[name][1]} | " + " | ".join(PROPERTIES[name]) + " |" for name in NAMES]
            lines += ["", "## Their condition from step to step (Fig. 2.2b)", "", "![condition](newton-fig2-2.svg)"]
        lines += ["", "| " + spec + ": step, μ | " + " | ".join(f"{name}: condition | backward error" for name in NAMES) + " | inertia of K_0, K_+ |",
                  "|---|" + "---:|" * 6 + "---|"]
        for k, s in enumerate(steps):
            lines.append(f"| {k}, {s['mu']:.0e} | " + " | ".join(f"{c:.0e} | {b:.0e}" for c, b in zip(s["condition"], s["backward"])) + f" | {s['inertia']} |")
    chart.draw(picture("newton-fig2-2.svg"), panels, NAMES)
    name, source = network(options)
    if source:
        lines += ["", "## Orders (Fig. 3.2)", "", f"Entries of L of {name}, complete, by `metapack analyse --method ldlt --matching off --ordering NAME`; `--plot FILE` draws",
                  "the patterns (here: [none](newton-fig3-2-natural.svg), [AMD](newton-fig3-2-amd.svg)).", "", "| order | entries of L | over those of A's lower triangle |", "|---|---:|---:|"]
        for ordering in ORDERINGS:
            plot = ["--plot", picture(f"newton-fig3-2-{ordering}.svg")] if ordering in ("natural", "amd") else []
            done = subprocess.run([os.path.join(options.build, "metapack"), "analyse", *source, "--method", "ldlt", "--matching", "off", "--ordering",
                                   ordering, *plot, "--json", "-q"], capture_output=True, text=True)
            row = json.loads(done.stdout)
            entries, given = row["factor"]["nnz"], row["nnz"]
            lines.append(f"| {ordering} | {entries} | {entries / given:.1f} |")
    with open(options.report, "w", encoding="utf-8") as file:
        file.write("# The systems of an interior-point step, and orders\n\nThuerck 2021, Table 2.1, Fig. 2.2b and 3.2. Made by `" + command() + "`, METAPACK "
                   + version(options) + ": " + machine() + ".\n\n" + "\n".join(INTRODUCTION + lines + SAID) + "\n")
    print(f"wrote {os.path.relpath(options.report)}")


INTRODUCTION = [
    "A step of an interior-point method on min cᵀx, Ax = b, x ≥ 0 solves with one of", "",
    "    K_U = [0 Aᵀ I; A 0 0; S 0 X]     K_0 = [D Aᵀ; A 0], D = X⁻¹S     K_+ = A D⁻¹ Aᵀ", "",
    "on x, y, s as they are, with s or with s and x eliminated. Condition: ‖K‖₁‖K⁻¹‖₁ by estimate; of K_U by that of [0 K; Kᵀ 0], which is",
    "symmetric and has its singular values. Backward error: of a solution by this library's LDLᵀ.", ""]
SAID = [
    "", "Order and entries are those of Table 2.1: (2n + m)² and 2n + m + 2 nnz(A) less the zero block in the middle, n + 2 nnz(A), and what A Aᵀ has. Its conditions",
    "are those of A alone. Where as many unknowns are positive as there are constraints, K_U keeps its condition while x and s tend to 0, as the table",
    "says, and K_+ as well; K_0 does not, for D spans all of it, and scaling takes that away: backward errors stay at rounding. Where fewer are positive",
    "(Fig. 2.2b), all three grow without end: K_U as 1/μ, K_0 and K_+ nearly as its square, as cond(A)² is in the table; K_+ is no",
    "longer positive to rounding at the last step (inertia 1052 14 of 1200), where K_0 still has 3000 and 1200."]

if __name__ == "__main__":
    main()
