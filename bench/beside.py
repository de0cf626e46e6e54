#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The README's plot: times of other solvers over ours, a dot for each matrix, from the tables in bench/results.

    bench/beside.py [--check] [bench/results/beside.svg]

It measures nothing. Where a page no longer has the figure that a row needs, that is said and nothing is written. --check: exit
code 1 if the plot that is there is another one."""
import itertools, math, os, re, sys

import sparse_gpu, svg
from page import geometric_mean

RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")
PEERS = ["MUMPS (Debian)", "MUMPS (METIS, OpenMP)", "SSIDS", "PARDISO"]
TICKS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50]
LEFT, PLOT, RIGHT, STEP, TOP = 285, 470, 95, 26, 62
DOT, BEHIND, AHEAD = "#1f6feb", "#d1242f", "#1a7f37"


def lines(page):
    with open(os.path.join(RESULTS, page), encoding="utf-8") as file:
        return file.read().split("\n")


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def number(cell):
    found = re.fullmatch(r"\**([0-9.]+(?:e[-+]?\d+)?)\**", cell)
    return float(found[1]) if found else None


def has(text, first, *columns):
    """The line with the heading that begins with `first` and has these columns, one further; 0: there is none."""
    return next((k + 1 for k, line in enumerate(text) if cells(line)[0] == first and all(column in cells(line) for column in columns)), 0)


def table(text, first, *columns):
    """The cells of these columns, from each row of the first table whose heading begins with `first` and has them."""
    k = has(text, first, *columns) - 1
    if k >= 0:
        head, body = cells(text[k]), []
        for row in itertools.takewhile(lambda row: row.startswith("|"), text[k + 2:]):
            row = cells(row)
            body.append([number(row[head.index(column)]) for column in columns])
        return body
    sys.exit(f"beside.py: no table with the columns {', '.join(columns)}")


def ratios(pairs):
    """Of pairs (theirs, ours) where both have a right answer."""
    return [theirs / ours for theirs, ours in pairs if theirs and ours]


def told(text, pattern):
    found = re.search(pattern, " ".join(text))
    if not found:
        sys.exit(f"beside.py: bench/results/sparse-gpu.md no longer has: {pattern}")
    return float(found[1])


def gpu_of_19(text):
    """Of the page that has 19 matrices row by row, and of 66 others the means alone."""
    found = ratios(table(text, "matrix", "cuDSS factor", "engine"))
    yield f"factorize, the {len(found)} we worked on", found, geometric_mean(found)
    said = r"cuDSS's time over ours is \**{}"
    yield "factorize again, 66 others", [], told(text, said.format(r"([\d.]+)\** for a refactorization"))
    yield "– regular ones of these", [], told(text, r"Regular ones: ([\d.]+)")
    yield "– singular or doubtful ones", [], told(text, r"singular or doubtful ones: ([\d.]+)")
    yield "solve, 66 others", [], told(text, r"([\d.]+) for an unrefined solve")
    yield "solve with refinement, 66 others", [], told(text, r"([\d.]+) for a refined one")


def is_of_all(line):
    """Is it the heading of such a table, of any year?"""
    return cells(line)[:3] == sparse_gpu.COLUMNS[:3]


def gpu_of_all(text):
    """Of the page that bench/sparse_gpu.py writes, the first table with a row for each matrix."""
    start = next(k for k, line in enumerate(text) if is_of_all(line))
    wanted = cells(text[start])
    again, apply, refined, zero = (wanted.index(name) for name in ("ratio", "apply", "refined", "zero pivots"))
    body = [cells(line) for line in itertools.takewhile(lambda line: line.startswith("|"), text[start + 2:])]
    right = [row for row in body if number(row[again]) and not row[wanted.index("cuDSS ω")].startswith("**")]
    parts = [[row for row in right if (row[0] in sparse_gpu.STEERED) == steered] for steered in (True, False)]
    singular = [[row for row in parts[1] if (row[zero] != "0") == zeros] for zeros in (False, True)]
    for name, some, column in [("factorize again, {} we worked on", parts[0], again), ("factorize again, {} others", parts[1], again),
                               ("– regular ones of these, {}", singular[0], again), ("– with zero pivots, {}", singular[1], again),
                               ("solve, {} others", parts[1], apply), ("solve with refinement, {} others", parts[1], refined)]:
        values = [value for value in (number(row[column]) for row in some) if value]
        if values:
            yield name.format(f"the {len(values)}" if some is parts[0] else len(values)), values, geometric_mean(values)


def rows():
    """Headings (texts), and rows: name, ratios of single matrices (or none), their geometric mean."""
    cpu, gpu = lines("direct-cpu.md"), lines("sparse-gpu.md")
    for heading, ours in [("factorize and solve", "METAPACK"), ("factorize again and solve", "and solve")]:
        yield f"Processor, 2 threads: {heading}"
        for peer in (p for p in PEERS if has(cpu, "matrix", p, ours)):
            found = ratios(table(cpu, "matrix", peer, ours))
            yield f"{peer}, {len(found)} matrices", found, geometric_mean(found)
    yield "NVIDIA H200, beside cuDSS"
    yield from (gpu_of_all if any(is_of_all(line) for line in gpu) else gpu_of_19)(gpu)


def draw(parts):
    bottom = TOP + STEP * len(parts)
    drawing = svg.Drawing(LEFT + PLOT + RIGHT, bottom + 56)

    def place(ratio):
        share = math.log(ratio / TICKS[0]) / math.log(TICKS[-1] / TICKS[0])
        return LEFT + PLOT * min(max(share, 0), 1)
    drawing.text(16, 24, "The other solver's time over METAPACK's", 15, weight=600)
    drawing.text(place(1) - 12, 46, "← METAPACK is slower", 12, "end", BEHIND)
    drawing.text(place(1) + 12, 46, "METAPACK is faster →", 12, "start", AHEAD)
    for tick in TICKS:
        one = tick == 1
        drawing.line(place(tick), TOP - 6, place(tick), bottom, svg.INK if one else svg.GRID, 1.4 if one else 1)
        drawing.text(place(tick), bottom + 18, f"{tick:g}", 12, "middle", svg.SOFT)
    drawing.text(LEFT + PLOT + 14, 46, "mean", 12, fill=svg.SOFT)
    for k, part in enumerate(parts):
        y = TOP + STEP * (k + 0.5)
        if isinstance(part, str):
            drawing.text(16, y + 5, part, 13, weight=600)
            continue
        name, dots, middle = part
        drawing.text(LEFT - 14, y + 4, name, 12, "end")
        drawing.line(LEFT, y, LEFT + PLOT, y, svg.GRID)
        for ratio in dots:
            drawing.add(f'<circle cx="{place(ratio):.1f}" cy="{y:.1f}" r="3" fill="{DOT}" fill-opacity="0.3"/>')
        colour = AHEAD if middle >= 1 else BEHIND
        drawing.line(place(middle), y - 9, place(middle), y + 9, colour, 3.5)
        drawing.text(LEFT + PLOT + 14, y + 4, f"{middle:.2f}", 12, fill=colour, weight=600)
    drawing.text(16, bottom + 42, "A dot is a matrix that both solve; the bar, and the figure, are the geometric mean. Rows without "
                 "dots: the means alone are kept.", 11, fill=svg.SOFT)
    return drawing


if __name__ == "__main__":
    paths = [a for a in sys.argv[1:] if a != "--check"]
    if any(path.startswith("-") for path in paths):
        sys.exit("beside.py [--check] [FILE.svg]")
    path = paths[0] if paths else os.path.join(RESULTS, "beside.svg")
    if "--check" not in sys.argv:
        draw(list(rows())).save(path)
    else:
        import tempfile
        with tempfile.NamedTemporaryFile("r", suffix=".svg", encoding="utf-8") as new, open(path, encoding="utf-8") as old:
            draw(list(rows())).save(new.name)
            if new.read() != old.read():
                sys.exit(f"beside.py: {path} is not what the tables say; run bench/beside.py")
