# SPDX-License-Identifier: BSD-3-Clause
"""``python -m pymetapack env``: what is in use here, a line each.  Ends with 0."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from ._device import devices
from ._lib import build_config, library_path, version
from ._make import ldl
from ._version import __version__

MODULE = "libmetapack_cuda.so"
USAGE = "usage: python -m pymetapack env"


def near(*names: str) -> str:
    """The first of these files that there is, from the library's folder on; else empty."""
    folder = Path(library_path).resolve().parent
    return next((str((folder / name).resolve()) for name in names if (folder / name).exists()), "")


def lines() -> list[tuple[str, str]]:
    """(what, where it is or why it is not)"""
    found = devices()
    module = os.environ.get("METAPACK_CUDA_MODULE") or near(MODULE)
    petsc = sorted(Path(library_path).resolve().parent.glob("metapack/petsc/*/libmetapack_petsc.so"))
    return [
        ("pymetapack", f"{__version__}, {Path(__file__).resolve().parent}"),
        ("library", f"{version()}, {library_path}"),
        ("built", build_config()),
        ("kernels", ldl(np.eye(1)).engine),
        ("CUDA module", module or "none beside the library (a wheel: pymetapack-cuda13)"),
        *[("GPU", f"cuda:{gpu.number}, {gpu.text}") for gpu in found],
        *([] if found else [("GPU", found.reason)]),
        ("Ipopt", near("metapack/ipopt/libhsl.so", "ipopt/libhsl.so") or "its plug-in is not here"),
        *[("PETSc", str(path)) for path in petsc],
        *([] if petsc else [("PETSc", "its plug-in is not here")]),
    ]


def main(words: list[str]) -> int:
    if words not in ([], ["env"]):
        print(USAGE, file=sys.stderr)
        return 2
    for what, text in lines():
        print(f"{what:12} {text}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
