# SPDX-License-Identifier: BSD-3-Clause
"""One build serves all: no source of the library is compiled twice for the same precision and
instruction set, whatever is linked of it (libraries, Ipopt's and PETSc's plug-ins, the wheel).

    one_build.py BUILD SOURCE
"""

import collections
import json
import re
import sys
from pathlib import Path

# The wheel has no SCOTCH, which two files see.
TWICE = {"analysis/order/scotch.c", "core/status.c"}


def main(build, source):
    count = collections.Counter()
    for entry in json.loads((Path(build) / "compile_commands.json").read_text()):
        file = Path(entry["file"])
        library = Path(source).resolve() / "src"
        target = "".join(re.findall(r"CMakeFiles/([^/]+)\.dir/", entry["command"])[:1])
        if library in file.parents and re.match("metapack_(?!command)", target):
            kind = tuple(re.findall(r"-DMPKI_(?:PRECISION|ISA)=\w+", entry["command"]))
            count[str(file.relative_to(library)), kind] += 1
    assert len(count) > 300, f"only {len(count)} files of src/"
    wrong = [f"{file} {' '.join(kind)}: {times} times" for (file, kind), times in count.items()
             if times != (2 if file in TWICE else 1)]  # fmt: skip
    assert not wrong, "\n".join(wrong)
    print(f"{len(count)} objects of the library, each once but {len(TWICE)}")


main(*sys.argv[1:])
