# SPDX-License-Identifier: BSD-3-Clause
"""The library that a wheel carries, without SCOTCH.

    python3 library.py      the folder in which it is built, and the settings if it is OWN, a line each

A release build that is there (build, or the folder that METAPACK_BUILD names) lends its objects and
keeps its settings; without one, the library alone is built in build/python-wheel, without borgc's
kernels for batches.  CMAKE_ARGS adds settings of CMake's to that.
"""

import os
import shlex
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OWN = ROOT / "build" / "python-wheel"
SETTINGS = [
    "-DCMAKE_BUILD_TYPE=Release", "-DMETAPACK_TESTS=OFF", "-DMETAPACK_BENCH=OFF",
    "-DMETAPACK_SCOTCH=OFF", "-DMETAPACK_IPOPT=OFF", "-DMETAPACK_PETSC=OFF",
    "-DMETAPACK_EMITTED_KERNELS=OFF", *shlex.split(os.environ.get("CMAKE_ARGS", "")),
]  # fmt: skip


def folder() -> Path:
    """A build that is there, whose objects are then not compiled again, or OWN."""
    named = os.environ.get("METAPACK_BUILD")
    there = ROOT / (named or "build")
    if there == OWN:
        return OWN
    cache = there / "CMakeCache.txt"
    if named and not cache.exists():
        raise SystemExit(f"METAPACK_BUILD={named}: nothing was configured there")
    text = cache.read_text() if cache.exists() and "CMAKE_ARGS" not in os.environ else ""
    portable = ("METAPACK_ISAS:STRING=ALL\n", "METAPACK_TUNED:STRING=ALL\n",
                "METAPACK_SANITIZE:STRING=\n", "METAPACK_METIS:BOOL=ON\n")  # fmt: skip
    released = "CMAKE_BUILD_TYPE:STRING=Release\n" in text
    if released and f"metapack_SOURCE_DIR:STATIC={ROOT}\n" in text and all(x in text for x in portable):
        return there
    if named:
        raise SystemExit(f"METAPACK_BUILD={named} is no release build of {ROOT} for all processors")
    return OWN


def build() -> Path:
    """Build it; gives the shared library."""
    where = folder()
    if where == OWN:
        first = not (OWN / "CMakeCache.txt").exists()
        ninja = ["-G", "Ninja"] if first and shutil.which("ninja") else []
        subprocess.run(["cmake", "-S", str(ROOT), "-B", str(OWN), *SETTINGS, *ninja], check=True)
    else:
        print(f"objects of {where}", flush=True)
    jobs = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL", str(os.cpu_count() or 2))
    command = ["cmake", "--build", str(where), "--target", "metapack_wheel", "-j", jobs]
    subprocess.run(command, check=True)
    return next(path for path in (where / "wheel").glob("libmetapack.so.*") if path.is_symlink())


if __name__ == "__main__":
    where = folder()
    print(where, *(SETTINGS if where == OWN else []), sep="\n")
