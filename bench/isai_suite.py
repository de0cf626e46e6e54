#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fig. 7, 8 and Table III of Anzt, Chow, Huckle & Dongarra 2017 from what `bench_cuda_isai_solve suite` printed.

    bench/isai_suite.py OUTPUT [--report bench/results/isai-gpu.md] [--where "NVIDIA H200"]

Writes the section "A suite" of the report and figures beside it."""
import argparse, collections, os
from statistics import fmean, geometric_mean, median

import chart
from page import put_section

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ["none", "Jacobi", "exact", "ISAI(1)", "ISAI(2)", "ISAI(3)"]
LONGEST = 32  # of a column that the paper's kernel takes
Outcome = collections.namedtuple("Outcome", "made good iterations longest set_up inverses solve")
BINS = [0, 10, 20, 30, 40, 50, 60, 80, 100, 120, 150, 200, 300, 1e9]


def read(path):
    """Class, name, n, entries, level sets, outcomes by case; of matrices whose every case was tried or that are not in the suite."""
    for line in open(path, encoding="utf-8"):
        parts = [p.strip() for p in line.split("|")]
        if not line.startswith("suite ") or parts[0] == "suite warm-up" or len(parts) < 4:
            continue
        n, entries, levels = map(int, parts[2].split())
        got = {}
        for part in parts[3:]:
            words = part.split()
            if len(words) == 8:
                got[words[0]] = Outcome(words[1] == "1", words[2] == "1", int(words[3]), int(words[4]), *map(float, words[5:]))
        if "exact" in got and (not got["exact"].good or len(got) == len(CASES)):
            yield parts[0].split()[1], parts[1], n, entries, levels, got


def wins(rows, limited, with_set_up):
    """By case: how many matrices each solves in the least time. limited: without columns that are too long for the paper's kernel."""
    best = []
    for row in rows:
        got = row[5]
        able = {c: o.solve + (o.set_up if with_set_up else 0) for c, o in got.items()
                if o.good and not (limited and c.startswith("ISAI") and o.longest > LONGEST)}
        best.append(min(able, key=able.get))
    return best


def table(rows, limited):
    yield "| | generated | converges | inverses, of the rest of the set-up: mean, median | quicker | slower | mean speed-up; geometric mean |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    published = {"ISAI(1)": "251 of 460 | 219 (87 %) | 37.8 % | 187 | 32 | 7.71", "ISAI(2)": "192 | 171 (89 %) | 77.4 % | 158 | 13 | 10.56",
                 "ISAI(3)": "164 | 146 (89 %) | 113.9 % | 136 | 10 | 11.49"}
    for case in CASES[3:]:
        made = [r[5] for r in rows if r[5][case].made and not (limited and r[5][case].longest > LONGEST)]
        good = [g for g in made if g[case].good]
        over = [100 * g[case].inverses / max(g[case].set_up - g[case].inverses, 1e-9) for g in made]
        gain = [g["exact"].solve / g[case].solve for g in good]
        share = f"{len(good)} ({100 * len(good) / max(1, len(made)):.0f} %)"
        yield (f"| {case} | {len(made)} of {len(rows)} | {share} | {fmean(over or [0]):.1f} %, {median(over or [0]):.1f} % | "
               f"{sum(x > 1 for x in gain)} | {sum(x <= 1 for x in gain)} | {fmean(gain or [0]):.2f}; {geometric_mean(gain or [1]):.2f} |")
        if limited:
            yield f"| {case}, the paper | {published[case]} |"


def histogram(rows, path):
    """Fig. 7: time of the inverses over that of the rest of the set-up."""
    names = [f"{int(a)}–{int(b)}" if b < 1e9 else f"> {int(a)}" for a, b in zip(BINS, BINS[1:])]
    series = []
    for case in CASES[3:]:
        over = [100 * r[5][case].inverses / max(r[5][case].set_up - r[5][case].inverses, 1e-9) for r in rows if r[5][case].made]
        series.append({"name": case, "y": [sum(a <= x < b for x in over) for a, b in zip(BINS, BINS[1:])]})
    chart.draw(path, [{"title": "inverses beside the rest of the set-up", "ticks": names, "series": series, "bars": True,
                       "label": "matrices; % below"}], CASES[3:], columns=1)


def migration(before, after):
    moved = collections.Counter((a, b) for a, b in zip(before, after) if a != b)
    return ", ".join(f"{count} from {a} to {b}" for (a, b), count in sorted(moved.items(), key=lambda x: -x[1])) or "none"


def section(rows, out, figures, where):
    inside = [r for r in rows if r[5]["exact"].good]
    outside = [r for r in rows if not r[5]["exact"].good]
    kinds = collections.Counter(r[0] for r in inside)
    yield (f"{where}. {len(rows)} matrices: those of `bench/cuda/suite.txt` and files, as they are, in their own order. {len(inside)} are in the suite "
           f"({', '.join(f'{v} {k}' for k, v in kinds.items())}): IDR(4) with ILU(0) and exact solves reaches 1e-10 within 10 000 iterations, as in "
           f"the paper; {len(outside)} are not: " + ", ".join(r[1] for r in outside) + ".")
    yield ""
    yield (f"**Table III** with the paper's end of a column, {LONGEST} entries: what is longer counts as not generated, as there.")
    yield ""
    yield from table(inside, True)
    yield ""
    yield "Without that end, as the library makes them:"
    yield ""
    yield from table(inside, False)
    lost = [f"{r[1]} ({', '.join(c for c in CASES[3:] if not r[5][c].good)})" for r in inside if not all(r[5][c].good for c in CASES[3:])]
    yield ""
    yield f"{len(lost)} lose convergence, or their inverses overflow: " + (", ".join(lost) or "none") + "."
    yield ""
    yield f"![Fig. 7 redone]({os.path.basename(figures[0])})"
    yield ""
    yield "**Fig. 8**: how many matrices each solves in the least time."
    yield ""
    yield "| | " + " | ".join(CASES) + " |"
    yield "|---|" + "---:|" * len(CASES)
    series, moves = [], []
    for limited in (True, False):
        got = [wins(inside, limited, w) for w in (False, True)]
        for w, best in zip(("without", "with"), got):
            count = collections.Counter(best)
            yield (f"| {w} set-up{', columns to 32' if limited else ''} | " + " | ".join(str(count[c]) for c in CASES) + " |")
            if limited:
                series.append({"name": f"{w} set-up", "y": [count[c] for c in CASES]})
        moves.append(("Columns to 32" if limited else "All columns") + ": " + migration(*got) + ".")
    chart.draw(figures[1], [{"title": "Which is quickest", "ticks": CASES, "series": series, "bars": True, "label": "matrices"}],
               ["without set-up", "with set-up"], columns=1)
    yield ""
    yield "Which migrate once the set-up counts: " + " ".join(moves)
    yield ""
    yield f"![Fig. 8 redone]({os.path.basename(figures[1])})"
    yield ""
    yield "| class, matrix | n | level sets | " + " | ".join(f"{c}: iterations, solve s" for c in CASES) + " | longest column |"
    yield "|---|---:|---:|" + "---:|" * (len(CASES) + 1)
    for kind, name, n, _, levels, got in inside:
        cells = [f"{o.iterations}, {o.solve:.3f}" if o.good else "–" for o in (got[c] for c in CASES)]
        yield f"| {kind}: {name} | {n} | {levels} | " + " | ".join(cells) + f" | {', '.join(str(got[c].longest) for c in CASES[3:])} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output")
    parser.add_argument("--report", default=os.path.join(HERE, "results/isai-gpu.md"))
    parser.add_argument("--where", default="NVIDIA H200")
    o = parser.parse_args()
    base = os.path.splitext(o.report)[0]
    figures = [base + "-fig7.svg", base + "-fig8.svg"]
    rows = list(read(o.output))
    inside = [r for r in rows if r[5]["exact"].good]
    histogram(inside, figures[0])
    put_section(o.report, "A suite: Fig. 7, 8 and Table III", "\n".join([*section(rows, base, figures, o.where), ""]))


if __name__ == "__main__":
    main()
