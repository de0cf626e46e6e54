# SPDX-License-Identifier: BSD-3-Clause
"""A library that does not fit is refused at import, with the reason; so is none at all."""

import os
import shutil
import subprocess
import sys

import pytest

import pymetapack
from pymetapack import _lib
from pymetapack._lib import ffi

COMPILER = shutil.which("cc") or shutil.which("gcc")


def imported(library):
    environment = {**os.environ, "METAPACK_LIBRARY": str(library)}
    return subprocess.run([sys.executable, "-c", "import pymetapack"], env=environment,
                          capture_output=True, text=True)  # fmt: skip


def refused(library, *words):
    run = imported(library)
    last = run.stderr.strip().splitlines()[-1]
    assert run.returncode == 1 and last.startswith("ImportError: ")
    for word in words:
        assert word in last


def false_library(folder, version="", leave_out=(), options_size=None):
    """A shared library with all our symbols that can do nothing."""
    functions = [name for name in dir(_lib._library) if name.startswith("mpk_")]
    special = {
        "mpk_version": f'const char *mpk_version(void) {{ return "{version}"; }}',
        "mpk_options_init": "void mpk_options_init(unsigned long *p) "
        f"{{ *p = {options_size or ffi.sizeof('mpk_options')}; }}",
        "mpk_krylov_task_init": "void mpk_krylov_task_init(unsigned long *p) "
        f"{{ *p = {ffi.sizeof('mpk_krylov_task')}; }}",
        "mpk_option_at": "void *mpk_option_at(int index) { return 0; }",
    }
    lines = [special.get(name, f"int {name}(void) {{ return -9; }}")
             for name in functions if name not in leave_out]  # fmt: skip
    source, library = folder / "false.c", folder / "libfalse.so"
    source.write_text("\n".join(lines))
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", library, source], check=True)
    return library


needs_compiler = pytest.mark.skipif(not COMPILER, reason="no C compiler")


def test_no_library(tmp_path):
    refused(tmp_path / "libnone.so", "cannot load", "libnone.so", "METAPACK_LIBRARY")
    text = tmp_path / "libtext.so"
    text.write_text("this is text")
    refused(text, "cannot load", "libtext.so")


@needs_compiler
def test_another_version(tmp_path):
    refused(
        false_library(tmp_path, "9.7.0"), "METAPACK 9.7.0", f"needs {pymetapack.__version__[:3]}"
    )


@needs_compiler
def test_a_missing_symbol(tmp_path):
    library = false_library(tmp_path, pymetapack.__version__, ["mpk_solve_part"])
    refused(library, "lacks mpk_solve_part")


@needs_compiler
def test_another_structure(tmp_path):
    library = false_library(tmp_path, pymetapack.__version__, options_size=88)
    refused(library, "mpk_options has 88 bytes", "different builds")


@needs_compiler
def test_the_false_library_is_not_refused_for_nothing(tmp_path):
    assert imported(false_library(tmp_path, pymetapack.__version__)).returncode == 0


def test_versions():
    assert pymetapack.version().split(".")[:2] == pymetapack.__version__.split(".")[:2]
    assert "metis" in pymetapack.build_config()
    assert os.path.basename(pymetapack.library_path).startswith("libmetapack")
    assert _lib.status_names[0] == "MPK_OK"


@needs_compiler
def test_structures_are_those_of_the_compiler(tmp_path):
    """Size of every structure, as cffi lays it out and as the C compiler does."""
    from support import ROOT

    names = []
    for name in ffi.list_types()[0]:
        try:
            names += [name] if name.startswith("mpk_") and ffi.sizeof(name) > 4 else []
        except ffi.error:  # opaque
            pass
    assert len(names) >= 15
    lines = "".join(f'    printf("{name} %zu\\n", sizeof({name}));\n' for name in names)
    source = tmp_path / "sizes.c"
    source.write_text(
        f"#include <metapack/metapack.h>\n#include <stdio.h>\nint main(void) {{\n{lines}}}\n"
    )
    subprocess.run([COMPILER, f"-I{ROOT}/include", "-o", tmp_path / "sizes", source], check=True)
    said = subprocess.run([tmp_path / "sizes"], check=True, capture_output=True, text=True).stdout
    assert dict(line.split() for line in said.splitlines()) == {
        name: str(ffi.sizeof(name)) for name in names
    }


def test_the_public_signatures_have_types():
    """No parameter and no result without a type, or of type Any; mypy holds them to it
    (tests/typed.py, make check-clients)."""
    import inspect

    def check(name, function):
        signature = inspect.signature(function)
        for parameter in signature.parameters.values():
            if parameter.name != "self":
                assert parameter.annotation not in (inspect.Parameter.empty, "Any"), (
                    f"{name}: {parameter}"
                )
        assert signature.return_annotation not in (inspect.Signature.empty, "Any"), name

    for name in pymetapack.__all__:
        thing = getattr(pymetapack, name)
        if inspect.isfunction(thing):
            check(name, thing)
        elif inspect.isclass(thing) and not issubclass(thing, (Exception, tuple, int)):
            for key, value in vars(thing).items():
                value = value.fget if isinstance(value, property) else value
                if inspect.isfunction(value) and (key[0] != "_" or key == "__init__"):
                    check(f"{name}.{key}", value)


def test_the_typed_program():
    import typed

    typed.accepted()
