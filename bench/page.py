# SPDX-License-Identifier: BSD-3-Clause
"""Pages of docs/results that several runs write."""
import os, re


def put_section(path, heading, text):
    """Replace the part of a page that begins with a heading of the first level, or add it."""
    page = open(path, encoding="utf-8").read() if os.path.exists(path) else ""
    parts = [p for p in re.split(r"(?m)^(?=# )", page) if p.strip()]
    new = f"# {heading}\n\n{text}"
    at = [k for k, p in enumerate(parts) if p.startswith(f"# {heading}\n")]
    parts[at[0] if at else len(parts):(at[0] + 1) if at else len(parts)] = [new]
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(p.rstrip() + "\n" for p in parts))
