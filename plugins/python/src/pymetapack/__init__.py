# SPDX-License-Identifier: BSD-3-Clause
"""METAPACK in Python: symmetric indefinite linear systems, sparse and dense; others by L U.

>>> import numpy as np, pymetapack
>>> from scipy.sparse import csc_matrix
>>> K = csc_matrix([[2.0, 0, 1], [0, 3, 1], [1, 1, 0]])     # a KKT system
>>> F = pymetapack.ldl(K)
>>> F.inertia, F.solve([3.0, 4, 2]).round(12)
(Inertia(positive=2, negative=1, zero=0), array([1., 1., 1.]))
"""

from ._bordered import Bordered
from ._batch import BatchFactor, batch_gemm, ldl_batch
from ._cholesky import Cholesky, cholesky
from ._device import Device, Devices, devices
from ._device_memory import (
    use_allocator, use_cupy_allocator, use_default_allocator, use_stream, use_torch_allocator,
)  # fmt: skip
from ._dense import DenseFactor, ldl_dense, solve_dense
from ._doctor import Diagnosis, Finding, doctor
from ._errors import *  # noqa: F403
from ._errors import __all__ as _errors
from ._factor import Certificate, Factor, Inertia, Slogdet
from ._files import generate, generators, read
from ._isai import ApproximateInverse, isai
from ._krylov import KrylovInfo, bicgstab, cg, fgmres, gmres, idr, minres, sqmr, symmlq
from ._lib import build_config, library_path, version
from ._make import factorized, ildl, ldl, ldu, load, lu, spsolve
from ._options import keys as options
from ._saved import Tree
from ._schur import SchurComplement, schur
from ._scipy import SymmetricLU, UseInScipy, use_in_scipy
from ._systems import MixedFactor, SystemsFactor
from ._version import __version__

__all__ = [
    "ApproximateInverse", "BatchFactor", "Bordered", "Certificate", "Cholesky", "DenseFactor", "Device", "Devices", "Diagnosis",
    "Factor", "Finding", "Inertia", "KrylovInfo", "MixedFactor", "SchurComplement", "Slogdet", "SymmetricLU", "SystemsFactor", "Tree", "UseInScipy",
    "__version__", "batch_gemm", "bicgstab", "build_config", "cg", "cholesky", "devices", "doctor", "factorized",
    "fgmres", "generate", "generators", "gmres", "idr", "ildl", "isai", "ldl", "ldl_batch", "ldl_dense", "ldu",
    "library_path", "load", "lu", "minres", "options", "read", "schur", "solve_dense", "spsolve", "sqmr", "symmlq",
    "use_allocator", "use_cupy_allocator", "use_default_allocator", "use_in_scipy", "use_stream",
    "use_torch_allocator", "version", *_errors,
]  # fmt: skip
