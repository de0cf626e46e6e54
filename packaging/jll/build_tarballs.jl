# SPDX-License-Identifier: BSD-3-Clause
# METAPACK_jll: the library for plugins/julia, by BinaryBuilder.
using BinaryBuilder, Pkg

name = "METAPACK"
version = v"@VERSION@"
sources = [ArchiveSource("@URL@", "@SHA256@")]

script = raw"""
cd ${WORKSPACE}/srcdir/metapack-*
isas=ALL
if [[ "${target}" != x86_64-* ]]; then isas=generic; fi
cmake -S . -B build -G Ninja -DCMAKE_INSTALL_PREFIX=${prefix} -DCMAKE_TOOLCHAIN_FILE=${CMAKE_TARGET_TOOLCHAIN} \
    -DCMAKE_BUILD_TYPE=Release -DMETAPACK_ISAS=${isas} -DMETAPACK_TESTS=OFF -DMETAPACK_BENCH=OFF -DMETAPACK_SIM=OFF \
    -DMETAPACK_EMITTED_KERNELS=OFF -DMETAPACK_SCOTCH=OFF -DMETAPACK_PETSC=OFF -DMETAPACK_CUDA=OFF
cmake --build build --parallel ${nproc}
cmake --install build
install_license LICENSE
"""

platforms = [Platform("x86_64", "linux"; libc = "glibc"), Platform("aarch64", "linux"; libc = "glibc")]
products = [LibraryProduct("libmetapack", :libmetapack), ExecutableProduct("metapack", :metapack)]
dependencies = [Dependency("SuiteSparse_jll"), Dependency("METIS_jll"), Dependency("XZ_jll"), Dependency("Zlib_jll")]

build_tarballs(ARGS, name, version, sources, script, platforms, products, dependencies;
               julia_compat = "1.6", preferred_gcc_version = v"12")
