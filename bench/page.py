# SPDX-License-Identifier: BSD-3-Clause
"""What the pages of bench/results have in common: means, tables, sections that several runs write."""
import math, os, re


def geometric_mean(values):
    """Of those that are positive and finite; NaN: of none."""
    logs = [math.log(v) for v in values if v and v > 0 and math.isfinite(v)]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def table(head, rows, numbers=False):
    """numbers: all columns but the first are set to the right."""
    line = lambda cells: "| " + " | ".join(map(str, cells)) + " |\n"
    return line(head) + "|---|" + ("---:|" if numbers else "---|") * (len(head) - 1) + "\n" + "".join(map(line, rows))


def put_section(path, heading, text):
    """Replace what stands under a heading, up to the next one, or add it; the first is the page's title, the others are below it."""
    page = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    parts = [p for p in re.split(r"(?m)^(?=##? )", page) if p.strip()]
    at = next((k for k, p in enumerate(parts) if p.splitlines()[0].lstrip("# ") == heading), len(parts))
    parts[at:at + 1] = [f"{'##' if at else '#'} {heading}\n\n{text}"]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(p.rstrip() + "\n" for p in parts))
