#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tables II and III and Fig. 4, 5, 7, 8 of Anzt, Chow, Huckle & Dongarra 2017 from what bench/device-isai's programs printed.

    bench/isai_figures.py OUTPUT... [--report bench/results/isai-gpu.md] [--where "NVIDIA H200"] [--least 0.005]

Writes a section of the report, and figures beside it, for each kind of line that is there: `suite`, `tune`, `matrix`, `blocks`, `powers`, and those of `idr`."""
import argparse, collections, os, re
from statistics import fmean, geometric_mean, median

import chart
from page import put_section

HERE = os.path.dirname(os.path.abspath(__file__))
CASES = ["none", "Jacobi", "exact", "ISAI(1)", "ISAI(2)", "ISAI(3)"]
LONGEST = 32  # of a column that the paper's kernel takes
Outcome = collections.namedtuple("Outcome", "made good iterations longest set_up inverses solve")
BINS = [0, 10, 20, 40, 60, 80, 100, 150, 300, 1e9]


# Table II: iterations of exact solves and of ISAI(1); and level sets, as the application's seconds there tell them: those of
# ECO, whose natural order has 1999, take 52.9 us each, both triangles.
PUBLISHED = {"AF3": (329, 1588, 6530), "ECO": (954, 2933, 1999), "OFF": (148, 440, 3880), "PARA": (139, 730, 2540),
             "THM": (873, 1755, 7640), "TMT": (755, 1881, 1570)}
# Table II: seconds of a solution with exact solves over those with ISAI(1)
SPEED_UP = {"AF3": 4.74, "ECO": 3.32, "OFF": 10.56, "PARA": 3.55, "THM": 12.04, "TMT": 3.49}


def suite_rows(lines):
    """Class, name, n, entries, level sets, outcomes by case; of matrices whose every case was tried or that are not in the suite."""
    for line in lines:
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


def table(rows, limited, least):
    """least: seconds; a solve in less tells nothing beside another."""
    yield "| | generated | converges | inverses, of the rest of the set-up: mean, median | quicker | slower | mean speed-up; geometric mean |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    published = {"ISAI(1)": "251 of 460 | 219 (87 %) | 37.8 % | 187 | 32 | 7.71", "ISAI(2)": "192 | 171 (89 %) | 77.4 % | 158 | 13 | 10.56",
                 "ISAI(3)": "164 | 146 (89 %) | 113.9 % | 136 | 10 | 11.49"}
    for case in CASES[3:]:
        made = [r[5] for r in rows if r[5][case].made and not (limited and r[5][case].longest > LONGEST)]
        good = [g for g in made if g[case].good]
        over = [100 * g[case].inverses / max(g[case].set_up - g[case].inverses, 1e-9) for g in made]
        gain = [g["exact"].solve / g[case].solve for g in good if min(g["exact"].solve, g[case].solve) > least]
        share = f"{len(good)} ({100 * len(good) / max(1, len(made)):.0f} %)"
        yield (f"| {case} | {len(made)} of {len(rows)} | {share} | {fmean(over or [0]):.1f} %, {median(over or [0]):.1f} % | "
               f"{sum(x > 1 for x in gain)} | {sum(x <= 1 for x in gain)} | {fmean(gain or [0]):.2f}; {geometric_mean(gain or [1]):.2f} |")
        if limited:
            yield f"| {case}, the paper | {published[case]} |"


def histogram(rows, path):
    """Fig. 7: time of the inverses over that of the rest of the set-up."""
    names = [f"< {int(b)}" if b < 1e9 else "more" for b in BINS[1:]]
    series = []
    for case in CASES[3:]:
        over = [100 * r[5][case].inverses / max(r[5][case].set_up - r[5][case].inverses, 1e-9) for r in rows if r[5][case].made]
        series.append({"name": case, "y": [sum(a <= x < b for x in over) for a, b in zip(BINS, BINS[1:])]})
    chart.draw(path, [{"title": "inverses beside the rest of the set-up", "ticks": names, "series": series, "bars": True,
                       "label": "matrices, by the share in %"}], CASES[3:], columns=1)


def migration(before, after):
    moved = collections.Counter((a, b) for a, b in zip(before, after) if a != b)
    return ", ".join(f"{count} from {a} to {b}" for (a, b), count in sorted(moved.items(), key=lambda x: -x[1])) or "none"


def section(rows, figures, where, least):
    inside = [r for r in rows if r[5]["exact"].good]
    outside = [r for r in rows if not r[5]["exact"].good]
    kinds = collections.Counter(r[0] for r in inside)
    yield (f"{where} {len(rows)} matrices: those of `bench/cuda/suite.txt` and files, as they are, in their own order. {len(inside)} are in the suite "
           f"({', '.join(f'{v} {k}' for k, v in kinds.items())}): IDR(4) with ILU(0) and exact solves reaches 1e-10 within 10 000 iterations, as in "
           f"the paper; {len(outside)} are not: " + ", ".join(r[1] for r in outside) + ".")
    yield ""
    yield (f"**Table III** with the paper's end of a column, {LONGEST} entries: what is longer counts as not generated, as there.")
    yield ""
    if least:
        yield f"Quicker, slower and the means are of pairs of solves that took more than {1e3 * least:g} ms each."
        yield ""
    yield from table(inside, True, least)
    yield ""
    yield "Without that end, as the library makes them:"
    yield ""
    yield from table(inside, False, least)
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


def ratio(value, published):
    return f"{value} ({published}: {100 * (value / published - 1):+.0f} %)"


def tuned(lines):
    """Level sets and iterations of the siblings, the paper's in brackets; of several seeds the median."""
    yield "| sibling | n | entries | level sets (the paper's, from its times) | exact (the paper's) | ISAI(1) (the paper's) | spread of seeds |"
    yield "|---|---:|---:|---:|---:|---:|---:|"
    for line in lines:
        got = re.match(r"tune (\w+) \| n (\d+) entries (\d+) levels (\d+) \| exact ([\d -]+) \| ISAI\(1\) ([\d -]+)$", line.strip())
        if got and got[1] in PUBLISHED:
            exact, isai = ([int(w) for w in g.split() if not w.endswith("-")] for g in (got[5], got[6]))
            if exact and isai:
                e, i, levels = PUBLISHED[got[1]]
                yield (f"| {got[1]} | {got[2]} | {got[3]} | {ratio(int(got[4]), levels)} | {ratio(round(median(exact)), e)} | "
                       f"{ratio(round(median(isai)), i)} | {min(exact)}–{max(exact)}, {min(isai)}–{max(isai)} |")


def solutions(lines):
    """Tables I to III: ILU(0) and IDR(4) by six settings, from `isai_solve idr`."""
    yield "| sibling | case | inverses: pattern + values, ms | iterations | an application, ms | solve, s | exact / this | the paper's | factor, MB |"
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|"
    exact, told, gains = {}, re.compile(
        r"(\w+) n \d+ (\S+) +factor \S+ s, inverses: pattern (\S+) values (\S+) s, .*?; iterations (\d+)( \(not converged\))?, "
        r"application (\S+) ms, solve (\S+) s, residual \S+, factor (\S+) MB"), {}
    for m in filter(None, map(told.match, lines)):
        name, case, solve = m[1], m[2], float(m[8])
        if case == "exact":
            exact[name] = solve
        published = {"exact": PUBLISHED[name][0], "ISAI(1)": PUBLISHED[name][1]}.get(case)
        gain = exact[name] / solve if name in exact and case != "exact" and not m[6] else None
        gains.setdefault(case, []).extend([gain] if gain else [])
        yield (f"| {name} | {case} | {'' if case == 'exact' else f'{1e3 * float(m[3]):.2f} + {1e3 * float(m[4]):.2f}'} | "
               f"{'† ' if m[6] else ''}{ratio(int(m[5]), published) if published else m[5]} | {float(m[7]):.4f} | {solve:.3f} | "
               f"{f'{gain:.1f}' if gain else ''} | {SPEED_UP[name] if case == 'ISAI(1)' else ''} | {float(m[9]):.0f} |")
    yield ""
    yield ("Geometric means of exact over the others: " + "; ".join(f"{c} {geometric_mean(g):.1f}" for c, g in gains.items() if g) +
           f". The paper's, ISAI(1): {geometric_mean(SPEED_UP[n] for n in exact):.1f}. †: not reached.")


def figure_4(lines, path):
    found = collections.defaultdict(dict)
    for line in lines:
        got = re.match(r"blocks (\w+) (\d+) .*baseline / fused ([\d.]+) \(held ([\d.]+)\)", line)
        if got and int(got[2]) > 1:
            found[got[1]][int(got[2])] = float(got[3]), float(got[4])
    sizes = sorted({b for rows in found.values() for b in rows})
    yield "Baseline over fused, streamed (and the paper's registers), by rows of a block:"
    yield ""
    yield "| | " + " | ".join(map(str, sizes)) + " |"
    yield "|---|" + "---:|" * len(sizes)
    for name, rows in found.items():
        yield f"| {name} | " + " | ".join(f"{rows[b][0]:.1f} ({rows[b][1]:.1f})" if b in rows else "" for b in sizes) + " |"
    names = list(found)
    panels = [{"title": title, "ticks": [str(b) for b in sizes], "log": True, "label": "rows of a block",
               "series": [{"name": n, "y": [found[n].get(b, (None, None))[k] for b in sizes]} for n in names]}
              for k, title in enumerate(("baseline / streamed", "baseline / in registers"))]
    chart.draw(path, panels, names)
    yield ""
    yield f"![Fig. 4 redone]({os.path.basename(path)})"


def set_up(lines):
    """Time of the inverses beside ILU(0)'s, by power."""
    levels = {m[1]: int(m[2]) for m in (re.match(r"matrix (\w+) .*levels (\d+)", line) for line in lines) if m}
    found = collections.defaultdict(dict)
    for line in lines:
        got = re.match(r"powers (\w+) ISAI\((\d)\) entries (\d+) longest (\d+) .*baseline / fused ([\d.]+); of ILU\(0\) ([\d.]+) \+ ([\d.]+) ms: "
                       r"values [\d.]+ %, all ([\d.]+) %", line)
        if got:
            found[got[1]][int(got[2])] = float(got[8]), int(got[4]), float(got[5]), float(got[7])
    powers = sorted({k for rows in found.values() for k in rows})
    yield "Pattern, values and rows of both inverses, % of cuSPARSE's ILU(0) without its analysis (longest column; baseline / fused):"
    yield ""
    yield "| sibling | level sets | ILU(0) ms | " + " | ".join(f"k = {k}" for k in powers) + " |"
    yield "|---|---:|---:|" + "---:|" * len(powers)
    for name, rows in found.items():
        yield (f"| {name} | {levels.get(name, '')} | {next(iter(rows.values()))[3]:.2f} | " +
               " | ".join(f"{rows[k][0]:.1f} ({rows[k][1]}; {rows[k][2]:.1f})" if k in rows else "" for k in powers) + " |")
    means = [fmean(rows[k][0] for rows in found.values() if k in rows) for k in powers]
    yield "| mean | | | " + " | ".join(f"**{m:.0f} %**" for m in means) + " |"
    yield "| the paper's, columns to 32 | | | " + " | ".join({1: "37.8 %", 2: "77.4 %", 3: "113.9 %"}.get(k, "") for k in powers) + " |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("output", nargs="+")
    parser.add_argument("--report", default=os.path.join(HERE, "results/isai-gpu.md"))
    parser.add_argument("--where", default="NVIDIA H200.")
    parser.add_argument("--least", type=float, default=0, help="seconds below which two solves are not compared")
    o = parser.parse_args()
    base = os.path.splitext(o.report)[0]
    lines = [line for path in o.output for line in open(path, encoding="utf-8")]

    def put(heading, made):
        put_section(o.report, heading, "\n".join([*made, ""]))

    rows = list(suite_rows(lines))
    if rows:
        figures = [base + "-fig7.svg", base + "-fig8.svg"]
        histogram([r for r in rows if r[5]["exact"].good], figures[0])
        put("A suite: Fig. 7, 8 and Table III", section(rows, figures, o.where, o.least))
    if any(line.startswith("tune ") for line in lines):
        put("Siblings tuned to the published numbers", [o.where, "", *tuned(lines)])
    if any("; iterations " in line for line in lines):
        put("Solutions: ILU(0) and IDR(4), siblings tuned", [o.where, "", *solutions(lines)])
    if any(line.startswith("blocks ") for line in lines):
        put("Fig. 4 on all six", [o.where, "", *figure_4(lines, base + "-fig4.svg")])
    if any(line.startswith("powers ") for line in lines):
        put("Set-up beside ILU(0), siblings tuned", [o.where, "", *set_up(lines)])


if __name__ == "__main__":
    main()
