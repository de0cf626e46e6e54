# SPDX-License-Identifier: BSD-3-Clause
from spack.package import *


class Metapack(CMakePackage):
    """Sparse and dense symmetric indefinite linear systems: LDLT with threshold pivoting,
    incomplete factorizations, Krylov methods; plug-ins for Ipopt and PETSc."""

    url = "@URL@"
    license("BSD-3-Clause")
    version("@VERSION@", sha256="@SHA256@")

    variant("metis", default=True, description="METIS's nested dissection")
    variant("scotch", default=True, description="SCOTCH's nested dissection")
    variant("ipopt", default=True, description="the library that Ipopt loads")
    variant("petsc", default=False, description="the plug-in for PETSc")
    variant("cuda", default=False, description="the module for NVIDIA GPUs")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("zlib-api")
    depends_on("xz")
    depends_on("suite-sparse")
    depends_on("metis@5:", when="+metis")
    depends_on("scotch", when="+scotch")
    depends_on("petsc@3.18:", when="+petsc")
    depends_on("cuda@12:", when="+cuda")

    conflicts("platform=darwin", msg="METAPACK runs on Linux")
    conflicts("%gcc@:11", msg="gcc 12 or later")

    def cmake_args(self):
        args = [
            self.define("METAPACK_TESTS", self.run_tests),
            self.define("METAPACK_BENCH", False),
            self.define_from_variant("METAPACK_METIS", "metis"),
            self.define_from_variant("METAPACK_SCOTCH", "scotch"),
            self.define_from_variant("METAPACK_IPOPT", "ipopt"),
            self.define_from_variant("METAPACK_PETSC", "petsc"),
            self.define_from_variant("METAPACK_CUDA", "cuda"),
        ]
        if not self.spec.satisfies("target=x86_64:"):
            args.append(self.define("METAPACK_ISAS", "generic"))
        return args
