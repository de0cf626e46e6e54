# SPDX-License-Identifier: BSD-3-Clause
"""Pages of bench/results that several runs write."""
import os, re


def put_section(path, heading, text):
    """Replace what stands under a heading, up to the next one, or add it; the first is the page's title, the others are below it."""
    page = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    parts = [p for p in re.split(r"(?m)^(?=##? )", page) if p.strip()]
    at = next((k for k, p in enumerate(parts) if p.splitlines()[0].lstrip("# ") == heading), len(parts))
    parts[at:at + 1] = [f"{'##' if at else '#'} {heading}\n\n{text}"]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(p.rstrip() + "\n" for p in parts))
