# SPDX-License-Identifier: BSD-3-Clause
"""The wheel of pymetapack: pure Python over the C library, which CMake builds and the wheel carries.

What libmetapack.so links to and is not part of every Linux (AMD, METIS, xz) goes in beside it, found
by $ORIGIN, with its licence, under a name of its own: a METIS that another package has loaded is
another METIS.  SCOTCH (CeCILL-C) stays out.

Where the library is built, and of what: library.py.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution
from wheel.bdist_wheel import bdist_wheel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))
import headers  # noqa: E402
import library as built  # noqa: E402

# Part of every Linux that manylinux knows; all else that is linked to is carried.
SYSTEM = ("linux-vdso.", "libc.", "libm.", "libpthread.", "libdl.", "librt.", "libz.", "ld-linux")


def carried_of(library: Path, root: Path) -> list:
    """The same of a library for another machine, whose root (METAPACK_SYSROOT) has the others; its wheel's
    platform is METAPACK_PLATFORM."""
    found, todo = [], [library]
    while todo:
        command = ["patchelf", "--print-needed", str(todo.pop())]
        for name in subprocess.run(command, check=True, capture_output=True, text=True).stdout.split():
            if name.startswith(SYSTEM) or name in (path.name for path in found):
                continue
            path = next((path for path in sorted(root.glob(f"**/lib/*/{name}"))), None)
            if not path:
                raise SystemExit(f"{library} needs {name}, which is not in {root}")
            found.append(path)
            todo.append(path)
    return found


def carried(library: Path) -> list:
    """Paths of what the library links to and must bring, by the dynamic linker's own account."""
    if "METAPACK_SYSROOT" in os.environ:
        return carried_of(library, Path(os.environ["METAPACK_SYSROOT"]))
    lines = subprocess.run(["ldd", str(library)], check=True, capture_output=True, text=True).stdout
    found = []
    for line in lines.splitlines():
        name, _, rest = line.strip().partition(" => ")
        if not rest or name.startswith(SYSTEM):
            continue
        if "not found" in rest:
            raise SystemExit(f"{library} needs {name}, which is not here")
        found.append(Path(rest.split(" (")[0]))
    return found


def own_name(path: Path) -> str:
    """libmetis.so.5 -> libmetis-metapack.so.5"""
    return path.name.replace(".so", "-metapack.so", 1)


def bring(libraries: list, folder: Path) -> None:
    """Copy libraries into the folder under their own names, and tell all that is there."""
    for path in libraries:
        shutil.copy(path, folder / own_name(path), follow_symlinks=True)
        command = ["patchelf", "--set-soname", own_name(path), "--set-rpath", "$ORIGIN"]
        command.append(str(folder / own_name(path)))  # some need others of them
        subprocess.run(command, check=True)
    renamed = [
        word for path in libraries for word in ("--replace-needed", path.name, own_name(path))
    ]
    for file in folder.iterdir() if libraries else []:
        subprocess.run(["patchelf", *renamed, str(file)], check=True)


def licence(path: Path, folder: Path) -> None:
    """The text for one carried library: $METAPACK_LICENSES/NAME, or Debian's copyright file."""
    name = path.name.split(".so")[0]
    given = Path(os.environ.get("METAPACK_LICENSES", "/nonexistent")) / name
    if not given.exists():
        for place in (path, path.resolve(), Path(str(path.resolve()).replace("/usr/", "/", 1))):
            owner = subprocess.run(["dpkg-query", "-S", str(place)], capture_output=True, text=True)
            if owner.returncode == 0:
                given = Path("/usr/share/doc") / owner.stdout.split(":")[0] / "copyright"
                break
    if not given.exists():
        raise SystemExit(
            f"no licence text for {path}: put it into a folder as {name}, named by METAPACK_LICENSES"
        )
    shutil.copy(given, folder / f"{name}.txt")


class Build(build_py):
    def run(self) -> None:
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        package = Path(self.build_lib) / "pymetapack"
        headers.generate(ROOT / "include" / "metapack", ROOT / "VERSION", package)
        library = built.build()
        lib, licences = package / "lib", package / "licenses"
        for folder in (lib, licences):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        shutil.copy(library, lib / library.name, follow_symlinks=True)
        shutil.copy(ROOT / "LICENSE", licences / "metapack.txt")
        libraries = carried(library)
        bring(libraries, lib)
        for path in libraries:
            licence(path, licences)


class Wheel(bdist_wheel):
    """For any Python 3, on one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple:
        return ("py3", "none", os.environ.get("METAPACK_PLATFORM") or super().get_tag()[2])


class Binary(Distribution):
    def has_ext_modules(self) -> bool:
        return True


setup(
    version=headers.version(ROOT / "VERSION"),
    cmdclass={"build_py": Build, "bdist_wheel": Wheel},
    distclass=Binary,
)
