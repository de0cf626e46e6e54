# SPDX-License-Identifier: BSD-3-Clause
"""The doctor by its command: kinds, pages, errors."""

import numpy as np
import pytest
import scipy.sparse as sp

import pymetapack
from pymetapack import _doctor

try:
    _doctor._command()
except pymetapack.FileError:  # the library alone was built
    pytest.skip("the command metapack is not there", allow_module_level=True)


def test_kinds():
    path = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(6, 6), format="csr")
    assert pymetapack.doctor(path).kind == "grounded-laplacian"
    assert pymetapack.doctor(sp.tril(path), lower=True).kind == "grounded-laplacian"
    general = path + sp.csr_matrix(([5.0], ([0], [4])), shape=(6, 6))
    found = pymetapack.doctor(general)
    assert found.kind == "general" and found.facts["mirror"]["largest"] == 5
    assert (found.facts["mirror"]["row"], found.facts["mirror"]["column"]) == (1, 5)
    h = np.array([[2, 1j], [-1j, 2]])
    assert pymetapack.doctor(h).facts["symmetry"] == "hermitian"
    assert pymetapack.doctor(np.tril(h), lower=True, hermitian=True).kind == "positive-definite"
    zero = pymetapack.doctor(np.zeros((3, 3)))
    assert zero.kind == "zero" and "A is singular" in str(zero)


def test_page_and_errors(tmp_path):
    page = tmp_path / "a.html"
    found = pymetapack.doctor(np.diag([1.0, 2]), page=page)
    assert found.kind == "diagonal" and page.read_text().startswith("<!doctype html>")
    with pytest.raises(pymetapack.InputError):
        pymetapack.doctor(np.array([[1.0, np.nan], [np.nan, 1]]))
    with pytest.raises(pymetapack.MetapackError, match="html"):
        pymetapack.doctor(np.eye(2), page=tmp_path / "a.png")
    with pytest.raises(pymetapack.MetapackError, match="seconds"):
        pymetapack.doctor(np.eye(2), seconds=-1)


def test_without_the_command(tmp_path, monkeypatch):
    monkeypatch.setattr(_doctor, "library_path", str(tmp_path / "lib" / "libmetapack.so.0"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(pymetapack.FileError, match="the command metapack"):
        pymetapack.doctor(np.eye(2))
