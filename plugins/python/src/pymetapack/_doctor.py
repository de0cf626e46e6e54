# SPDX-License-Identifier: BSD-3-Clause
"""What a matrix is, what makes it hard, what its answer is worth: the command metapack doctor."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from ._context import Context
from ._errors import FileError, MetapackError
from ._lib import lib, library_path
from ._matrix import destroy_problem, take
from ._types import MatrixLike

__all__ = ["Diagnosis", "Finding", "doctor"]


class Finding(NamedTuple):
    """A sentence of the doctor: ``section`` is what, hard, way, cost, tried, worth or left,
    ``severity`` note, good, care or bad, ``key`` the kind of statement."""

    section: str
    severity: str
    key: str
    text: str


class Diagnosis(NamedTuple):
    """What :func:`doctor` found: the kind as a word, a line of text, sentences, and all numbers as
    docs/reference/json.md has them (``metapack-doctor/1``)."""

    kind: str
    title: str
    findings: list[Finding]
    facts: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join([self.title, *(finding.text for finding in self.findings)])


def _command() -> str:
    """The command: beside the library, in the folder bin next to it, or on the path."""
    folder = Path(library_path).resolve().parent
    for path in (folder / "metapack", folder.parent / "bin" / "metapack"):
        if path.is_file() and os.access(path, os.X_OK):
            return str(path)
    found = shutil.which("metapack")
    if found is None:
        raise FileError("the command metapack, which is the doctor, is neither beside the library nor on the path: "
                        "install METAPACK itself, not its wheel alone", "file", "doctor")  # fmt: skip
    return found


def doctor(A: MatrixLike, lower: Optional[bool] = None, hermitian: bool = False, *, seconds: float = 60.0,
           page: Optional[Union[str, "os.PathLike[str]"]] = None) -> Diagnosis:  # fmt: skip
    """What a matrix is, what makes it hard, what METAPACK does with it and what its answer is worth.

    It runs ``metapack doctor``, which the wheel does not carry, in a process of its own.

    Parameters
    ----------
    A, lower, hermitian
        As for :func:`ldl`; one that is given whole may be symmetric, Hermitian, or neither.
    seconds : float
        Time for all of it; what is left then is left out, and a finding says so.
    page : path
        A page of HTML with pictures to write, ``*.html``.

    Returns
    -------
    Diagnosis

    Examples
    --------
    >>> import numpy as np, pymetapack
    >>> found = pymetapack.doctor(np.array([[2.0, 0, 1], [0, 3, 1], [1, 1, 0]]))
    >>> found.kind, found.facts["form"]["constraints"]
    ('saddle-point', 1)
    >>> [finding.key for finding in found.findings if finding.section == "hard"]
    ['zero-diagonal']
    """
    command = _command()
    matrix = take(A, lower, hermitian, general=lower is None and not hermitian)
    context = Context()
    with tempfile.TemporaryDirectory() as folder:
        problem = matrix.problem(context)
        try:
            path = os.fsencode(os.path.join(folder, "A.mtx"))
            context.check(context.call(lib.mpk_problem_write, problem[0], path, long=True))
        finally:
            destroy_problem(problem)
        words = [command, "doctor", "A.mtx", "--json", "-q", "--seconds", repr(float(seconds))]
        if page is not None:
            words += ["-o", os.path.abspath(page)]
        run = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    try:
        facts = json.loads(run.stdout)
    except ValueError:
        facts = {}
    if facts.get("schema") != "metapack-doctor/1":
        raise MetapackError(facts.get("message") or run.stderr.strip() or "metapack doctor failed",
                            facts.get("status", ""), "doctor")  # fmt: skip
    findings = [Finding(**finding) for finding in facts["findings"]]
    return Diagnosis(facts["kind"], facts["title"], findings, facts)
