# SPDX-License-Identifier: BSD-3-Clause
"""Pictures for bench/results without a plotting library: a drawing and panels with axes. Lengths in CSS pixels."""
import html, math

INK, SOFT, FRAME, GRID = "#1d2733", "#64707d", "#c9d1d9", "#eceff2"


class Drawing:
    """An SVG that grows; save() writes it."""

    def __init__(self, width, height):
        self.width, self.height, self.parts = width, height, []

    def add(self, text):
        self.parts.append(text)

    def text(self, x, y, text, size=13, anchor="start", fill=INK, weight=400, turn=0):
        turned = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.add(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="{anchor}" fill="{fill}" '
                 f'font-weight="{weight}"{turned}>{html.escape(str(text))}</text>')

    def line(self, x1, y1, x2, y2, stroke=INK, width=1.0, dash=None):
        self.add(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" '
                 f'stroke-width="{width}"' + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def rect(self, x, y, width, height, fill="none", stroke="none"):
        self.add(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.2f}" height="{max(height, 0):.2f}" '
                 f'fill="{fill}" stroke="{stroke}"/>')

    def curve(self, points, stroke=INK, width=2.0, dash=None, dots=None):
        """dots: fill of a dot on each point, None for no dots."""
        places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.add(f'<polyline fill="none" stroke="{stroke}" stroke-width="{width}" points="{places}"'
                 + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")
        for x, y in points if dots else []:
            self.add(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6" fill="{dots}" stroke="{stroke}" stroke-width="1.4"/>')

    def save(self, path):
        head = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width:.0f}" height="{self.height:.0f}" '
                f'viewBox="0 0 {self.width:.0f} {self.height:.0f}" font-family="Inter,\'Helvetica Neue\',Helvetica,'
                'Arial,\'DejaVu Sans\',sans-serif">\n'
                f'<rect width="{self.width:.0f}" height="{self.height:.0f}" fill="#fff"/>\n')
        with open(path, "w", encoding="utf-8") as file:
            file.write(head + "\n".join(self.parts) + "\n</svg>\n")


class Axis:
    """Numbers from least to most onto pixels from start to end; logarithmic between whole decades on request."""

    def __init__(self, least, most, start, end, log=False):
        if log:
            least = 10 ** math.floor(math.log10(least) + 1e-9)
            most = max(10 ** math.ceil(math.log10(most) - 1e-9), 10 * least)
        self.least, self.most, self.start, self.end, self.log = least, most, start, end, log

    def __call__(self, x):
        if self.log:
            share = math.log(max(x, self.least) / self.least) / math.log(self.most / self.least)
        else:
            share = (x - self.least) / (self.most - self.least)
        return self.start + (self.end - self.start) * share

    def ticks(self, count=5):
        if self.log:
            powers = range(round(math.log10(self.least)), round(math.log10(self.most)) + 1)
            return [10.0 ** p for p in powers]
        return [self.least + (self.most - self.least) * k / count for k in range(count + 1)]


def number(x):
    """1, 0.25, 100, 10k, 2M."""
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if abs(x) >= size:
            return f"{x / size:g}{unit}"
    return f"{x:g}"


def panel(drawing, x, y, width, height, axis, left=True, right=None, title=""):
    """Frame with lines at the ticks of `axis`, numbered on the left; `right`: a second axis, numbered on the right."""
    for tick in axis.ticks():
        at = axis(tick)
        drawing.line(x, at, x + width, at, GRID)
        if left:
            drawing.text(x - 8, at + 4, number(tick), 12, "end", SOFT)
    for tick in right.ticks() if right else []:
        drawing.text(x + width + 8, right(tick) + 4, number(tick), 12, "start", SOFT)
    drawing.rect(x, y, width, height, stroke=FRAME)
    if title:
        drawing.text(x, y - 9, title, 14, weight=600)
