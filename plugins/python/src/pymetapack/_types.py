# SPDX-License-Identifier: BSD-3-Clause
"""Names for what goes in and what comes out."""

from __future__ import annotations

from typing import Any, Protocol, Sequence, TypeVar, Union

import numpy as np
from numpy.typing import ArrayLike, NDArray


class SparseMatrix(Protocol):
    """What SciPy's sparse matrices and arrays of all formats have."""

    @property
    def format(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> Any: ...

    def tocsc(self, copy: bool = ...) -> Any: ...


class SupportsCuda(Protocol):
    """An array in a GPU's memory: CuPy's, PyTorch's, Numba's ..."""

    @property
    def __cuda_array_interface__(self) -> Any: ...


class CompressedOnGpu(Protocol):
    """A sparse matrix in a GPU's memory: cupyx.scipy.sparse's, of any format."""

    @property
    def format(self) -> str: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def data(self) -> SupportsCuda: ...


class SupportsDLPack(Protocol):
    """An array of another library, in the host's memory or a GPU's."""

    def __dlpack__(self) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...


#: Whatever lies on a GPU comes back as what it was.
OnGpu = TypeVar("OnGpu", bound=SupportsCuda)
Array = NDArray[Any]
DType = np.dtype[Any]
VectorLike = Union[ArrayLike, SupportsDLPack, SupportsCuda]
MatrixLike = Union[SparseMatrix, ArrayLike, SupportsDLPack, SupportsCuda, CompressedOnGpu]
#: Of an option: a number, a word, on or off; of ``given_perm`` a permutation.
OptionValue = Union[str, float, bool, np.generic, Sequence[int], NDArray[np.integer[Any]]]
