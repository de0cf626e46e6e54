# SPDX-License-Identifier: BSD-3-Clause
"""Make the two generated modules of pymetapack from the C headers: _cffi.py and _version.py.

    python3 headers.py HEADERS VERSION FOLDER

HEADERS is the folder of metapack.h, VERSION the file that names the version, FOLDER the package
to write into.  What Python believes of the C library is thereby what its headers say, field by
field; nothing is written twice.
"""

import re
import sys
from pathlib import Path

import cffi


def declarations(folder: Path) -> str:
    """The declarations of all headers in the order of metapack.h, as cffi reads them."""
    order = re.findall(r"#include <metapack/(\w+\.h)>", (folder / "metapack.h").read_text())
    text = "\n".join((folder / name).read_text() for name in order)
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", "")
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.S)
    constants = re.findall(r"^#define (MPK_\w+) (\d+)$", text, flags=re.M)
    text = re.sub(r"^#.*$", "", text, flags=re.M)
    text = re.sub(r"static inline [^{]*\{.*?^\}", "", text, flags=re.S | re.M)
    text = text.replace("MPK_API ", "")
    defines = "".join(f"#define {name} {value}\n" for name, value in constants)
    return defines + re.sub(r"\n\s*\n+", "\n", text)


def version(path: Path) -> str:
    text = path.read_text().strip()
    if not re.fullmatch(r"\d+\.\d+\.\d+", text):
        raise SystemExit(f"{path} names no version")
    return text


def generate(headers: Path, version_file: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    ffi = cffi.FFI()
    ffi.cdef(declarations(headers))
    ffi.set_source("pymetapack._cffi", None)
    ffi.emit_python_code(str(folder / "_cffi.py"))
    (folder / "_version.py").write_text(
        f'# Generated from VERSION.\n__version__ = "{version(version_file)}"\n'
    )


if __name__ == "__main__":
    generate(*map(Path, sys.argv[1:4]))
