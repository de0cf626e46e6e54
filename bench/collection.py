# SPDX-License-Identifier: BSD-3-Clause
"""The real matrices that benchmarks take."""
import fnmatch, os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def folder():
    """METAPACK_MATRICES, or ../shared/matrices, or data/."""
    named, near = os.environ.get("METAPACK_MATRICES"), ROOT.parent / "shared/matrices"
    return Path(named) if named else near if near.exists() else ROOT / "data"


def files(only="*"):
    """(name, path) of each that fits the pattern; right-hand sides are none."""
    for path in sorted(folder().rglob("*.mtx*")):
        name = str(path.relative_to(folder())).split(".mtx")[0]
        if not name.endswith("_b") and fnmatch.fnmatch(name, only):
            yield name, path
