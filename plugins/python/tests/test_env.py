# SPDX-License-Identifier: BSD-3-Clause
"""``python -m pymetapack env`` names the library in use, and says why what is missing is missing."""

import os
import subprocess
import sys

import pymetapack


def run(*words, **environment):
    return subprocess.run([sys.executable, "-m", "pymetapack", *words], capture_output=True, text=True,
                          env={**os.environ, **environment})  # fmt: skip


def test_lines():
    done = run("env")
    assert done.returncode == 0, done.stderr
    told = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert told["pymetapack"].startswith(pymetapack.__version__)
    assert pymetapack.library_path in told["library"]
    assert told["kernels"].startswith("cpu-")
    assert {"CUDA", "GPU", "Ipopt", "PETSc"} <= set(told)


def test_generic():
    done = run("env", METAPACK_CPU="generic")
    assert "cpu-generic" in done.stdout or "METAPACK_ISAS" in done.stderr


def test_wrong_words():
    done = run("environment")
    assert done.returncode == 2 and "usage" in done.stderr
