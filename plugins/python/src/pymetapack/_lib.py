# SPDX-License-Identifier: BSD-3-Clause
"""The C library, found and checked once.

The one that the wheel carries; ``METAPACK_LIBRARY`` names another; without either, the system's.
A library of another version, with other structures, or without a function that the headers have,
is refused here, so that no call goes astray later.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

from ._version import __version__

try:
    from ._cffi import ffi as _ffi
except ImportError as error:  # pragma: no cover
    raise ImportError(
        f"pymetapack is not whole: {error}. Install its wheel, or generate _cffi.py with "
        "plugins/python/headers.py (it needs the package cffi)"
    ) from error

ffi: Any = _ffi
SONAME = "libmetapack.so.0"


def _candidates() -> list[str]:
    named = os.environ.get("METAPACK_LIBRARY")
    if named:
        return [named]
    carried = Path(__file__).parent / "lib" / SONAME
    return [str(carried)] if carried.exists() else [SONAME]


def _open() -> tuple[Any, str]:
    refused = []
    for path in _candidates():
        try:
            return ffi.dlopen(path), path
        except OSError as error:
            refused.append(str(error))
    raise ImportError(
        "pymetapack cannot load the METAPACK library: " + "; ".join(refused) + ". Install the "
        "wheel that carries it, or name the library in METAPACK_LIBRARY"
    )


def _check(library: Any, path: str) -> None:
    missing = []
    for name in dir(library):
        try:
            getattr(library, name)
        except (AttributeError, ffi.error):
            missing.append(name)
    if missing:
        raise ImportError(
            f"{path} lacks {', '.join(missing[:5])}{' ...' if len(missing) > 5 else ''}: it is not "
            f"the METAPACK library that pymetapack {__version__} was made for"
        )
    found = ffi.string(library.mpk_version()).decode()
    if found.split(".")[:2] != __version__.split(".")[:2]:
        raise ImportError(
            f"{path} is METAPACK {found}, and pymetapack {__version__} needs "
            f"{'.'.join(__version__.split('.')[:2])}.x"
        )
    # The init functions write the library's own size: into room that surely suffices.
    for struct, init in (
        ("mpk_options", library.mpk_options_init),
        ("mpk_krylov_task", library.mpk_krylov_task_init),
    ):
        room = ffi.new("char[16384]")
        view = ffi.cast(f"{struct} *", room)
        init(view)
        if view.struct_size != ffi.sizeof(struct):
            raise ImportError(
                f"{path}: its {struct} has {view.struct_size} bytes, and pymetapack was made for "
                f"{ffi.sizeof(struct)}: the two come from different builds of METAPACK {found}"
            )


def _size_of(struct: Any) -> int:
    """0: opaque.  (cffi 2.1.1 ends the process where such a struct is asked for its fields.)"""
    try:
        return int(ffi.sizeof(struct))
    except (ffi.error, ValueError):
        return 0


class _Library:
    """The library's functions and constants. Of those that fill a struct the ones that are told its size,
    so that a library with larger structs than those of the headers writes no more than there is."""

    def __init__(self, library: Any) -> None:
        self._library = library
        for name in dir(library):
            if name.endswith("_sized"):
                function = getattr(library, name)
                seen = [kind.item for kind in ffi.typeof(function).args if kind.kind == "pointer"]
                sizes = [size for kind in seen if kind.kind == "struct" and (size := _size_of(kind))]
                setattr(self, name[: -len("_sized")], partial(function, sizes[-1]))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._library, name)
        setattr(self, name, found)
        return found


_library, library_path = _open()
_check(_library, library_path)
lib: Any = _Library(_library)

#: Status number -> name of the enumerator, "MPK_ERR_INPUT".
status_names: dict[int, str] = ffi.typeof("mpk_status").elements


def text(pointer: Any) -> str:
    """A C string, never None."""
    return "" if pointer == ffi.NULL else ffi.string(pointer).decode("utf-8", "replace")


def version() -> str:
    """Version of the C library that is in use."""
    return text(lib.mpk_version())


def build_config() -> str:
    """How the C library was built: compiler, backends, orderings."""
    return text(lib.mpk_build_config())
