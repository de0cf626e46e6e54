# SPDX-License-Identifier: BSD-3-Clause
"""Charts for bench/results: panels of lines and of grouped bars, each axis linear or logarithmic, and ratios by name, as SVG by svg.py."""
import math

import svg

COLOURS = ["#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df", "#0e7c86"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 400, 250, 70, 60, 46, 58


def good(y, log):
    return y is not None and math.isfinite(y) and (y > 0 or not log)


def axis(series, log, start, end, reach=()):
    values = [y for line in series for y in line["y"] if good(y, log)] or [1.0]
    values += reach
    if log:
        return svg.Axis(min(values), max(values), start, end, log=True)
    least, most = min(0.0, *values), max(0.0, *values)
    steps = (unit * 10.0 ** power for power in range(-12, 12) for unit in (1, 2, 2.5, 5))
    step = next(s for s in steps if math.floor(least / s) * s + 5 * s >= most)  # five of them, as the axis has
    return svg.Axis(math.floor(least / step) * step, math.floor(least / step) * step + 5 * step, start, end)


def draw(path, panels, legend, columns=2):
    """panels: dicts of title, ticks (texts along x), series (dicts of name, y, dash, right: on the right axis), log,
    log_right, bars, label, label_right, reach (values that the left axis has room for, too). legend: names in the order
    of their colours. A y that is None is a gap."""
    columns = min(columns, len(panels))
    rows = (len(panels) + columns - 1) // columns
    wide, high = LEFT + WIDTH + RIGHT, TOP + HEIGHT + BOTTOM
    named = LEFT + sum(40 + 7.6 * len(name) for name in legend)
    drawing = svg.Drawing(max(columns * wide, round(named)), rows * high + 34)
    for k, panel in enumerate(panels):
        one(drawing, k % columns * wide + LEFT, k // columns * high + TOP, panel, legend)
    x = LEFT
    for k, name in enumerate(legend):
        y = rows * high + 10
        drawing.rect(x, y - 9, 12, 12, COLOURS[k % len(COLOURS)])
        drawing.text(x + 18, y + 2, name)
        x += 40 + 7.6 * len(name)
    drawing.save(path)


def ratios(path, title, names, series, ticks):
    """A row for each name, on it a dot for each of series (pairs of a name and its ratios, None: no dot), on a logarithmic axis
    with these ticks; what lies outside them is drawn at its end. A line marks 1."""
    left, step, top, width = 180, 21, 74, 520
    bottom = top + step * len(names)
    drawing = svg.Drawing(left + width + 30, bottom + 42)
    drawing.text(left, 24, title, 14, weight=600)
    x = left
    for k, (name, _) in enumerate(series):
        dot(drawing, x + 5, 46, COLOURS[k])
        drawing.text(x + 16, 50, name, 12)
        x += 30 + 7 * len(name)

    def place(ratio):
        share = math.log(ratio / ticks[0]) / math.log(ticks[-1] / ticks[0])
        return left + width * min(max(share, 0), 1)
    for tick in ticks:
        drawing.line(place(tick), top - 8, place(tick), bottom, svg.INK if tick == 1 else svg.GRID, 1.4 if tick == 1 else 1)
        drawing.text(place(tick), bottom + 18, svg.number(tick), 12, "middle", svg.SOFT)
    for row, name in enumerate(names):
        y = top + step * (row + 0.5)
        drawing.line(left, y, left + width, y, svg.GRID)
        drawing.text(left - 12, y + 4, name, 12, "end")
        for k, (_, values) in enumerate(series):
            if good(values[row], True):
                dot(drawing, place(values[row]), y, COLOURS[k])
    drawing.save(path)


def dot(drawing, x, y, colour):
    drawing.curve([(x, y)], colour, dots=colour)


def one(drawing, x, y, panel, legend):
    left = [s for s in panel["series"] if not s.get("right")]
    right = [s for s in panel["series"] if s.get("right")]
    scale = axis(left, panel.get("log"), y + HEIGHT, y, panel.get("reach", ()))
    other = axis(right, panel.get("log_right"), y + HEIGHT, y) if right else None
    svg.panel(drawing, x, y, WIDTH, HEIGHT, scale, right=other, title=panel["title"])
    count = len(panel["ticks"])
    place = [x + WIDTH * (k + 0.5) / count for k in range(count)]
    for at, text in zip(place, panel["ticks"]):
        drawing.text(at, y + HEIGHT + 17, text, 12 if count < 9 else 10, "middle", svg.SOFT)
    drawing.text(x + WIDTH / 2, y + HEIGHT + 37, panel.get("label", ""), 12, "middle", svg.SOFT)
    if right:
        drawing.text(x + WIDTH, y + HEIGHT + 37, "dashed: " + panel.get("label_right", ""), 11, "end", svg.SOFT)
    bars = [s for s in left if panel.get("bars")]
    for s in left + right:
        colour = COLOURS[legend.index(s["name"]) % len(COLOURS)]
        to, log = (other, panel.get("log_right")) if s.get("right") else (scale, panel.get("log"))
        if panel.get("bars"):
            width = 0.8 * WIDTH / count / len(bars)
            zero = y + HEIGHT if log else to(0)
            for at, value in zip(place, s["y"]):
                if good(value, log):
                    start = at + width * (bars.index(s) - len(bars) / 2)
                    drawing.rect(start, min(zero, to(value)), width, abs(zero - to(value)), colour)
            continue
        run = []
        for at, value in [*zip(place, s["y"]), (0, None)]:
            if good(value, log):
                run.append((at, to(value)))
            elif run:
                drawing.curve(run, colour, dash="5 4" if s.get("right") or s.get("dash") else None, dots="#fff")
                run = []
