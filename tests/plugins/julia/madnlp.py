# SPDX-License-Identifier: BSD-3-Clause
"""The adapter to MadNLP beside MadNLP's sources: madnlp.py ADAPTER SOURCES.

What the adapter uses of MadNLP must be defined there, and it must define each function that MadNLP's own
adapter to MA57 does, with as many arguments; the solvers are called for a tuple (positive, zero, negative).
"""

import re
import sys
from pathlib import Path

DEFINED = r"(?:function|abstract type|mutable struct|struct)\s+(\w+!?)|^(\w+!?)\([^=\n]*\)[^=\n]*=[^=]|^\s*(\w+)\(::Type"


def arguments(text: str, name: str, prefix: str = "") -> set:
    """How many arguments definitions of `name` have."""
    found = re.findall(rf"(?:function\s+|^){prefix}{name}\(([^;)]*)", text, re.M)
    return {len([a for a in re.sub(r"\{[^}]*\}", "", f).split(",") if a.strip()]) for f in found}


def complaints(ours: str, core: str, ma57: str) -> list:
    there = {name for found in re.findall(DEFINED, core, re.M) for name in found if name}
    used = set(re.findall(r"MadNLP\.(\w+!?)", ours)) - {"Optimizer"}
    wrong = [f"MadNLP.{name}: MadNLP does not define it" for name in sorted(used - there)]
    wanted = ["factorize!", "solve_linear_system!", "is_inertia", "inertia", "improve!", "introduce", "input_type",
              "default_options", "is_supported"]  # fmt: skip
    for name in wanted:
        here, reference = arguments(ours, name, r"MadNLP\."), arguments(ma57, name)
        if not reference:
            wrong.append(f"{name}: MadNLP's adapter to MA57 has it no more")
        elif here != reference:
            wrong.append(f"{name}: {sorted(here)} arguments, MadNLP's adapter to MA57 has {sorted(reference)}")
    if not re.search(r"num_pos\s*,\s*num_zero\s*,\s*num_neg\s*=\s*inertia\(", core):
        wrong.append("inertia: MadNLP does not take it as (positive, zero, negative)")
    return wrong


def main() -> None:
    ours, source = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    core = "\n".join(p.read_text() for p in sorted(source.glob("src/**/*.jl")))
    ma57 = (source / "lib/MadNLPHSL/src/ma57.jl").read_text()
    wrong = complaints(ours, core, ma57)
    for line in wrong:
        print(line)
    for old, new in (("MadNLP.improve!", "MadNLP.improves!"), ("inertia(M::", "inertia(a, M::")):
        if not complaints(ours.replace(old, new), core, ma57):
            wrong.append(new)
            print(f"a wrong adapter passes: {new}")
    print("wrong" if wrong else "ok")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
