#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Table 8.1 and Figures 8.9 to 8.11 of Thuerck 2021 anew: what the strategies BR, RB and RBR make of a matrix.

    bench/blocking.py [MATRICES] [--build build] [--only PATTERN] [--report bench/results/blocking.md]

Matrices: MATRICES, or the folder METAPACK_MATRICES (or ../shared/matrices, else data/), those of at least 1000 rows,
each pattern once, and some generated ones. On each, `metapack stats` blocks by three strategies and two orderings into
4 to 32 rows, on a regular grid as the thesis does and with variable blocks, and fills completely. Rows go to
BUILD/bench/blocking.jsonl as they come; a run that was broken off goes on from there, --fresh begins anew."""
import argparse, fnmatch, glob, json, math, os, re, subprocess, sys, textwrap

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import svg
from page import geometric_mean

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
STRATEGIES, ORDERINGS, SIZES = ["br", "rb", "rbr"], ["amd", "metis"], [4, 8, 12, 16, 20, 24, 28, 32]
GENERATED = ["nlpkkt 12", "helmholtz 2d 100", "helmholtz 3d 16", "stokes mac 60", "lp-kkt 2000 4000 coupling=local",
             "optimal-control 500", "quasi-definite 60", "control-distributed 14"]
LEAST_ROWS = 1000


def matrices(options):
    """Yield (name, arguments of metapack, to be run in the folder) for each pattern once: iterates of one method share
    theirs."""
    seen = set()
    for path in sorted(glob.glob("*/*.mtx*", root_dir=options.matrices)):
        name = path.split(".mtx")[0]
        pattern = re.sub(r"_(it)?\d+$", "", name) if re.search(r"_it\d+$|_AC_\d+$", name) else name
        if name.endswith("_b") or name.startswith("tiny/") or pattern in seen:
            continue
        seen.add(pattern)
        yield pattern, [path]
    for spec in GENERATED:
        yield spec, ["--generate", spec]


def measure(options, path):
    """Fill the results file; return its rows: one for each matrix and grid, as metapack-stats/1 has them."""
    rows = []
    if os.path.exists(path) and not options.fresh:
        rows = [json.loads(line) for line in open(path)]
    have = {(r["matrix"], r["grid"]) for r in rows}
    out = open(path, "w" if options.fresh else "a")
    for name, source in matrices(options):
        for grid in (True, False):
            if (name, grid) in have or not fnmatch.fnmatch(name, options.only):
                continue
            row = stats(options, source, grid)
            row.update(matrix=name, grid=grid)
            rows.append(row)
            out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{name:36s} {'grid' if grid else 'variable':9s} {row.get('failed', 'n = %d' % row.get('n', 0))}",
                  flush=True)
    out.close()
    return [r for r in rows if fnmatch.fnmatch(r["matrix"], options.only)]


def run(options, *words, timeout=None):
    return subprocess.run([options.metapack, *words], capture_output=True, text=True, timeout=timeout,
                          cwd=options.matrices)


def stats(options, source, grid):
    info = run(options, "info", *source, "--json", "-q")
    n = json.loads(info.stdout).get("n", 0) if info.stdout else 0
    if n < LEAST_ROWS:
        return {"failed": "small", "n": n}
    try:
        done = run(options, "stats", *source, "--strategy", ",".join(STRATEGIES), "--ordering", ",".join(ORDERINGS),
                   "--block", ",".join(map(str, SIZES)), "--levels", "full", "--matching", "off", "--json", "-q",
                   "--threads", str(options.threads), "--grid=" + ("on" if grid else "off"), timeout=options.timeout)
    except subprocess.TimeoutExpired:
        return {"failed": f"more than {options.timeout:.0f} s", "n": n}
    result = json.loads(done.stdout) if done.stdout else {}
    if done.returncode or "blockings" not in result:
        return {"failed": result.get("message", f"exit {done.returncode}"), "n": n}
    return {"n": n, "nnz": result["nnz"], "blockings": result["blockings"]}


# ---- figures ------------------------------------------------------------------------------------

BLUE, ORANGE = ("#c9def6", "#7fb0e6", "#2b6cc4"), ("#fbe0bd", "#f2ad5c", "#c8690a")  # light, middle, dark
COLOURS = {"amd": BLUE, "metis": ORANGE}
STYLE = {"amd": "#c8372d", "metis": "#d98a1f"}


def level_shares(b):
    """Sublevels, levels and their bound, over block rows."""
    level, rows = b["levels"][0], b["block_rows"]
    return level["sublevels"] / rows, level["levels"] / rows, math.ceil(level["scalar_depth"] / b["block"]) / rows


def bars_figure(rows, path, title, note, values, axis_of, best):
    """A panel for each strategy; for each matrix two bars side by side, each with shades from the outside in; a line
    joins the smaller of best(values) of the two. Matrices in the order of that line in the last panel."""
    step, top, tall, left = max(8, 900 // max(len(rows), 1)), 92, 190, 66
    width = left + step * len(rows) + 20
    drawing = svg.Drawing(max(width, 700), top + len(STRATEGIES) * (tall + 46))
    drawing.text(left, 34, title, 18, weight=600)
    x = left
    for ordering, words in (("amd", note), ("metis", note)):
        for shade, word in zip(COLOURS[ordering][3 - len(words):], words):
            drawing.rect(x, 50, 12, 12, shade)
            drawing.text(x + 17, 61, f"{word} ({ordering.upper()})", 12)
            x += 34 + 7.1 * len(f"{word} ({ordering.upper()})")
    order = sorted(rows, key=lambda r: min(best(values(r["runs"]["rbr", o])) for o in ORDERINGS))
    for p, strategy in enumerate(STRATEGIES):
        y = top + p * (tall + 46)
        axis = axis_of(y + tall, y)
        svg.panel(drawing, left, y, step * len(rows), tall, axis, title=strategy.upper())
        line = []
        for k, row in enumerate(order):
            for o, ordering in enumerate(ORDERINGS):
                got = values(row["runs"][strategy, ordering])
                for shade, value in zip(COLOURS[ordering][3 - len(got):], got):
                    at = axis(min(value, axis.most))
                    drawing.rect(left + (k + 0.1 + 0.4 * o) * step, at, 0.4 * step, y + tall - at, shade)
            least = min(best(values(row["runs"][strategy, o])) for o in ORDERINGS)
            line.append((left + (k + 0.5) * step, axis(min(least, axis.most))))
        drawing.curve(line, width=1.4)
    drawing.text(left, drawing.height - 14, f"{len(rows)} matrices, sorted by the line of the last panel", 12, fill=svg.SOFT)
    drawing.save(path)


def sizes_figure(rows, path, title):
    """Figure 8.11: blocks (solid, left) and level sets (dashed, right) over the block size, a row for each matrix."""
    wide, tall, left, gap, top = 250, 170, 78, 18, 104
    drawing = svg.Drawing(left + len(STRATEGIES) * (wide + gap) + 60, top + len(rows) * (tall + 62))
    drawing.text(left, 34, title, 18, weight=600)
    drawing.line(left, 56, left + 28, 56, width=2)
    drawing.text(left + 34, 60, "blocks (left)")
    drawing.line(left + 130, 56, left + 158, 56, width=2, dash="6 4")
    drawing.text(left + 164, 60, "level sets (right)")
    for o, ordering in enumerate(ORDERINGS):
        drawing.rect(left + 300 + 80 * o, 50, 12, 12, STYLE[ordering])
        drawing.text(left + 317 + 80 * o, 60, ordering.upper())
    for r, row in enumerate(rows):
        y = top + r * (tall + 62)
        runs = {(b["asked"], b["ordering_asked"], b["block"]): b["levels"][0] for b in row["all"]}
        blocks = svg.Axis(min(v["blocks"] for v in runs.values()), max(v["blocks"] for v in runs.values()), y + tall, y,
                          log=True)
        levels = svg.Axis(min(v["levels"] for v in runs.values()), max(v["levels"] for v in runs.values()), y + tall, y,
                          log=True)
        for s, strategy in enumerate(STRATEGIES):
            x = left + s * (wide + gap)
            svg.panel(drawing, x, y, wide, tall, blocks, s == 0, levels if s == len(STRATEGIES) - 1 else None,
                      f"{row['matrix']}, {strategy.upper()}" if s == 0 else strategy.upper())
            across = svg.Axis(SIZES[0], SIZES[-1], x + 14, x + wide - 14)
            for size in SIZES:
                drawing.text(across(size), y + tall + 16, size, 12, "middle", svg.SOFT)
            for ordering in ORDERINGS:
                own = [(n, runs[strategy, ordering, n]) for n in SIZES]
                drawing.curve([(across(n), blocks(v["blocks"])) for n, v in own], STYLE[ordering], dots=STYLE[ordering])
                drawing.curve([(across(n), levels(v["levels"])) for n, v in own], STYLE[ordering], dash="6 4", dots="#fff")
    drawing.save(path)


# ---- tables -------------------------------------------------------------------------------------

# Thuerck 2021, Table 8.1: (AMD, METIS, bound) for BR, RB, RBR; 100 of the 200 largest symmetric matrices of SuiteSparse
PUBLISHED = {"levels": [(0.17, 0.07, 0.07), (0.53, 0.52, 0.45), (0.09, 0.03, 0.03)],
             "sublevels": [(0.29, 0.21, 0.20), (0.64, 0.67, 0.57), (0.22, 0.20, 0.16)],
             "memory": [(1.82, 2.18, 1.0), (2.75, 5.14, 1.0), (2.24, 3.65, 1.0)],
             "least": [(1.01, 1.05, 1.0), (1.0, 1.82, 1.0), (1.01, 1.52, 1.0)],
             "most": [(15.83, 21.79, 1.0), (21.68, 18.1, 1.0), (15.79, 15.80, 1.0)]}


def runs_of(row, size):
    """By (strategy, ordering) asked for."""
    return {(b["asked"], b["ordering_asked"]): b for b in row["all"] if b["block"] == size}


def prepare(rows):
    """Good rows, with what was asked for beside what came of it: the lists come strategy by strategy."""
    good = []
    for row in rows:
        if "blockings" not in row:
            continue
        asked = [(s, o) for s in STRATEGIES for o in ORDERINGS for _ in SIZES]
        row["all"] = [dict(b, asked=s, ordering_asked=o) for b, (s, o) in zip(row["blockings"], asked)]
        good.append(row)
    return good


def summary(rows, size):
    """The lines of Table 8.1: name -> a (AMD, METIS, bound) for each strategy."""
    lines = {name: [] for name in PUBLISHED}
    for strategy in STRATEGIES:
        runs = {o: [runs_of(row, size)[strategy, o] for row in rows] for o in ORDERINGS}
        both = runs["amd"] + runs["metis"]
        shares = {o: [level_shares(b) for b in runs[o]] for o in ORDERINGS}
        bound = geometric_mean([level_shares(b)[2] for b in both])
        memory = {o: [b["levels"][0]["memory_ratio"] for b in runs[o]] for o in ORDERINGS}
        lines["levels"].append((*(geometric_mean([s[1] for s in shares[o]]) for o in ORDERINGS), bound))
        lines["sublevels"].append((*(geometric_mean([s[0] for s in shares[o]]) for o in ORDERINGS), bound))
        lines["memory"].append((*(geometric_mean(memory[o]) for o in ORDERINGS), 1.0))
        lines["least"].append((*(min(memory[o]) for o in ORDERINGS), 1.0))
        lines["most"].append((*(max(memory[o]) for o in ORDERINGS), 1.0))
    return lines


TITLES = {"levels": "levels / block rows", "sublevels": "sublevels / block rows", "memory": "room / scalar entries",
          "least": "the same, least", "most": "the same, most"}


def table(lines):
    head = "| geometric mean | " + " | ".join(f"{s.upper()}, {o}" for s in STRATEGIES for o in ("AMD", "METIS", "bound"))
    text = [head + " |", "|---|" + "--:|" * 9]
    for name, title in TITLES.items():
        cells = [f"{v:.3f}" if v < 0.1 else f"{v:.2f}" for triple in lines[name] for v in triple]
        text.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def sizes_table(rows):
    text = ["| N | " + " | ".join(f"{s.upper()}, {o.upper()}" for s in STRATEGIES for o in ORDERINGS) + " |",
            "|--:|" + "--:|" * 6]
    for size in SIZES:
        lines = summary(rows, size)
        cells = [f"{lines['levels'][s][o]:.3f}, {lines['memory'][s][o]:.1f}" for s in range(3) for o in range(2)]
        text.append(f"| {size} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def absolute_table(grid, free):
    """Means over the matrices that tell whether fewer levels were bought with more blocks."""
    text = ["| blocks of 16 | " + " | ".join(f"{s.upper()}, {o.upper()}" for s in STRATEGIES for o in ORDERINGS) + " |",
            "|---|" + "--:|" * 6]
    base = {row["matrix"]: runs_of(row, 16)["br", "amd"]["levels"][0] for row in grid}
    for title, rows in (("grid", grid), ("variable", free)):
        rows = [r for r in rows if r["matrix"] in base]
        for key, name in (("blocks", "blocks"), ("levels", "level sets"), ("capacity", "room"),
                          ("scalar_nnz", "scalar entries")):
            cells = [geometric_mean([runs_of(r, 16)[s, o]["levels"][0][key] / base[r["matrix"]][key] for r in rows])
                     for s in STRATEGIES for o in ORDERINGS]
            text.append(f"| {title}: {name} | " + " | ".join(f"{c:.2f}" for c in cells) + " |")
    return "\n".join(text)


def matrix_table(rows):
    text = ["| matrix | n | " + " | ".join(f"{s.upper()}, {o.upper()}" for s in STRATEGIES for o in ORDERINGS) + " |",
            "|---|--:|" + "--:|" * 6]
    for row in rows:
        runs = runs_of(row, 16)
        cells = [f"{runs[s, o]['levels'][0]['levels']}, {runs[s, o]['levels'][0]['memory_ratio']:.1f}"
                 for s in STRATEGIES for o in ORDERINGS]
        text.append(f"| {row['matrix']} | {row['n']} | " + " | ".join(cells) + " |")
    return "\n".join(text)


def figures(folder, grid, free):
    for row in grid + free:
        row["runs"] = runs_of(row, 16)
    worst = max(b["levels"][0]["memory_ratio"] for row in grid for b in row["runs"].values())
    bars_figure(grid, os.path.join(folder, "blocking-levels.svg"), "Level sets over block rows, regular blocks of 16",
                ("sublevels", "levels", "bound"), level_shares, lambda a, b: svg.Axis(0, 1, a, b), lambda v: v[1])
    bars_figure(free, os.path.join(folder, "blocking-levels-variable.svg"),
                "Level sets over block rows, variable blocks of up to 16", ("sublevels", "levels", "bound"), level_shares,
                lambda a, b: svg.Axis(0, 1, a, b), lambda v: v[1])
    bars_figure(grid, os.path.join(folder, "blocking-memory.svg"), "Room over scalar entries, regular blocks of 16",
                ("overhead", ), lambda b: (b["levels"][0]["memory_ratio"],),
                lambda a, b: svg.Axis(1, worst, a, b, log=True), lambda v: v[0])
    chosen = [row for name in SHOWN for row in grid if row["matrix"] == name]
    sizes_figure(chosen or grid[:4], os.path.join(folder, "blocking-sizes.svg"), "What the block size does (regular blocks)")


# Thuerck et al. 2018, Table II, where we have the matrix: mean block size and fill of A's blocks; strategy of Table I
TABLE_TWO = {"lp_kkt/bab5": ("rb", 400.05, 0.04), "qp_kkt/boyd1": ("rb", 15.02, 0.58), "nlpkkt 80": ("br", 989.39, 0.03)}
# 2018, Fig. 1: a linear program, a sibling of G3_circuit, and an nlpkkt
FIGURE_ONE = [("lp_kkt/bab5", "0:5", "blocking-fill-deep.svg"), ("helmholtz 2d 300 0", "0:5", "blocking-fill-grid.svg"),
              ("nlpkkt 24", "0:3", "blocking-fill-shallow.svg")]


def table_two(options):
    text = ["| matrix | strategy | entries a block, published | ours | A fills, published | ours |", "|---|---|--:|--:|--:|--:|"]
    sources = dict(matrices(options), **{"nlpkkt 80": ["--generate", "nlpkkt 80"]})
    for name, (strategy, size, fill) in TABLE_TWO.items():
        if name not in sources:
            continue
        done = run(options, "stats", *sources[name], "--strategy", strategy, "--ordering", "amd", "--block", "32",
                   "--levels", "0", "--scalar", "off", "--matching", "off", "--json", "-q")
        b = json.loads(done.stdout)["blockings"][0]
        text.append(f"| {name} | {strategy.upper()} | {size:.0f} | {b['levels'][0]['mean_block']:.0f} | {fill:.2f} | "
                    f"{b['input_fill']:.2f} |")
    return "\n".join(text)


def figure_one(options, folder):
    sources = dict(matrices(options), **{spec: ["--generate", spec] for spec, _, _ in FIGURE_ONE if " " in spec})
    for name, levels, file in FIGURE_ONE:
        if name in sources:
            run(options, "stats", *sources[name], "--strategy", "br,rb", "--ordering", "amd,rcm,gmc", "--block", "32",
                "--levels", levels, "--scalar", "off", "--matching", "off", "-q", "--plot",
                os.path.abspath(os.path.join(folder, file)))


SHOWN = ["lp_kkt/bab5", "acopf/case10000_goc", "qp_kkt/cont-101", "nlpkkt 12"]  # deep, shallow, grids in 2-D and 3-D


def left_out(rows):
    """What could not be had, in words."""
    why = [f"{r['matrix']} ({'regular' if r['grid'] else 'variable'} blocks): {r['failed']}" for r in rows
           if r.get("failed") not in (None, "small")]
    return "Left out: " + "; ".join(why) + "." if why else "Nothing was left out."


def figures_in_words(lines):
    """What RBR's second ordering brings."""
    at = {s: " and ".join(f"{lines['levels'][k][o]:.3f}" for o in range(2)) for k, s in enumerate(STRATEGIES)}
    text = (f"Level sets a block row, AMD and METIS: RBR {at['rbr']}, BR {at['br']}, RB {at['rb']}; the bound of RBR is "
            f"{lines['levels'][2][2]:.3f}.")
    return textwrap.fill(text, 116, initial_indent="  ", subsequent_indent="  ")


def report(options, rows):
    missing = left_out(rows)
    rows = prepare(rows)
    grid, free = [r for r in rows if r["grid"]], [r for r in rows if not r["grid"]]
    both = {r["matrix"] for r in grid} & {r["matrix"] for r in free}
    grid, free = [r for r in grid if r["matrix"] in both], [r for r in free if r["matrix"] in both]
    folder = os.path.dirname(options.report)
    figures(folder, grid, free)
    figure_one(options, folder)
    large = sorted(grid, key=lambda r: r["n"])[2 * len(grid) // 3:]
    with open(options.report, "w") as file:
        file.write(TEXT.format(
            count=len(grid), missing=missing, words=figures_in_words(summary(grid, 16)),
            free_words=figures_in_words(summary(free, 16)), published=table(PUBLISHED), grid=table(summary(grid, 16)), free=table(summary(free, 16)),
            sizes=sizes_table(grid), free_sizes=sizes_table(free), absolute=absolute_table(grid, free),
            large=table(summary(large, 16)), least=large[0]["n"], large_count=len(large), two=table_two(options),
            matrices=matrix_table(grid), free_matrices=matrix_table(free)))


TEXT = """# Blockings: Table 8.1 and Figures 8.9 to 8.11 of Thuerck 2021

Complete factors of {count} patterns (each once, whatever the values), blocked by BR, RB and RBR with AMD and METIS:

    bench/blocking.py --report bench/results/blocking.md

Nothing here is a time: the figures are the same on every machine. No matching, so that no values play a part. A level
set is a set of block columns that do not depend on each other, a sublevel a subset of it without conflicting updates;
fewer of them are more parallel. The bound of level sets is the depth of the scalar tree over N, that of room the scalar
factor itself; both belong to the permutation in question, so a strategy with a worse permutation gets a laxer bound.
{missing}

What they say:

- **Regular blocks, as in the thesis: RBR beats RB and BR, as published.**
{words}
  RB is better than published because its order is made a postorder first; without that, METIS's order cut into 16 has
  0.85 level sets a block row on rail_5177 and 0.56 on case2869_pegase, which is what the thesis found.
  The thesis's matrices are larger; on the larger third of ours RBR falls below its figures.
- **Variable blocks** need less room and fewer level sets, and RB comes as near to the bound as RBR: cutting along the
  elimination tree does beforehand what the second ordering does on a grid.
{free_words}
- **Sublevels**: 0.45 and 0.44 a block row by RBR where the thesis has 0.22 and 0.20, for our matrices are smaller. Of one grid by
  RBR with AMD, Helmholtz in 2D on 50², 100², 200² and 400²: 0.41, 0.19, 0.095, 0.044; in 3D on 16³, 24³ and 32³: 0.55, 0.39, 0.30. Of 115
  patterns, those that took less than a minute, 18 of 15 000 rows or more have 0.24 and 0.25, 20 from 6000 rows on 0.39 and 0.44, 25 from
  2000 on 0.49 and 0.45, the rest 0.73. The colouring is not what costs: frames of a level that share one successor need a sublevel each,
  whoever deals them out; the most of a level, summed over the levels, is 0.22 and 0.23 on those 18, and ours are 4 % above that sum in
  geometric mean, at most 39 %. (The sum was counted once, in `mpki_count_levels`.)
- In absolute numbers RBR on a grid needs half the blocks of BR, and its scalar factor is two fifths of BR's.

## Table 8.1, N = 16

As published (100 of the 200 largest symmetric matrices of SuiteSparse, which are not these):

{published}

Ours, all blocks of 16 rows as in the thesis:

{grid}

The same for the {large_count} largest of them, of {least} rows or more; the share of the depth in the rows falls as
matrices grow, and the thesis's are larger still:

{large}

Ours, variable blocks of up to 16 rows ([blocking.md](../../docs/design/blocking.md); what `grid = off`, the default, gives):

{free}

## In absolute numbers

Relative figures hide that the strategies' scalar factors differ: geometric means over BR with AMD on the regular grid.

{absolute}

## Figures

Fig. 8.9: level sets and sublevels over block rows, regular blocks and variable ones. Each matrix has a bar for AMD
and one for METIS; the line joins the smaller numbers of level sets.

![levels](blocking-levels.svg)
![levels, variable blocks](blocking-levels-variable.svg)

Fig. 8.10: room of the blocks over the entries of the scalar factor.

![memory](blocking-memory.svg)

Fig. 8.11: block sizes from 4 to 32.

![sizes](blocking-sizes.svg)

## Blocks of A (2018 paper, Table II and Figure 1)

Variable blocks of up to 32 rows, AMD. The paper counts a diagonal block as a square, we as a triangle. It stops
earlier on short rows: boyd1's have seven entries.

{two}

Blocks and level sets by level of fill (`metapack stats --plot`): bab5, a grid of 300², which stands for G3_circuit, and nlpkkt 24:

![a linear program](blocking-fill-deep.svg)
![a grid](blocking-fill-grid.svg)
![nlpkkt](blocking-fill-shallow.svg)

On nlpkkt 24 GMC adds most fill under BR and least under RB, and has fewest level sets in both, as the paper has of nlpkkt120 (with a
matching's pairs it has not under RB: [why](../../docs/design/blocking.md)). AMD adds least fill under BR. RCM has most level
sets in both strategies, on the grid, too, where they grow on: those of G3_circuit saturate under RB.

## Other block sizes

Geometric means of levels / block rows, and of room / scalar entries. Regular blocks:

{sizes}

Variable blocks:

{free_sizes}

## Matrix by matrix

Level sets, and room over scalar entries, N = 16. Regular blocks:

{matrices}

Variable blocks:

{free_matrices}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrices", nargs="?", help="folder of folders with .mtx files")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--only", default="*", help="names to take, as in 'lp_kkt/*'")
    parser.add_argument("--report", help="write the tables here, the figures beside it")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for a matrix and grid")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured")
    options = parser.parse_args()
    options.metapack = os.path.abspath(os.path.join(options.build, "metapack"))
    folder = options.matrices or os.environ.get("METAPACK_MATRICES") or os.path.join(ROOT, "../shared/matrices")
    options.matrices = folder if os.path.isdir(folder) else os.path.join(ROOT, "data")
    os.makedirs(os.path.join(options.build, "bench"), exist_ok=True)
    rows = measure(options, os.path.join(options.build, "bench/blocking.jsonl"))
    if options.report:
        report(options, rows)


if __name__ == "__main__":
    main()
