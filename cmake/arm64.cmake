# SPDX-License-Identifier: BSD-3-Clause
# A toolchain file for 64-bit Arm from another Debian: Debian's cross compilers, the libraries of a root that tools/root
# made, and qemu for what is run (tools/check-arm64 shows it at work).
#   METAPACK_ARM64_ROOT      the root's folder
#   METAPACK_ARM64_COMPILER  gcc (default) or clang
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES METAPACK_ARM64_ROOT METAPACK_ARM64_COMPILER)
set(CMAKE_SYSROOT ${METAPACK_ARM64_ROOT})
if(METAPACK_ARM64_COMPILER MATCHES clang)
    set(CMAKE_C_COMPILER ${METAPACK_ARM64_COMPILER})
    set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
else()
    set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
endif()
# before what the compiler's own package has of another C library
set(places =/usr/lib/aarch64-linux-gnu =/lib/aarch64-linux-gnu)
list(TRANSFORM places PREPEND -L)
list(JOIN places " " places)
set(CMAKE_C_FLAGS_INIT "-isystem =/usr/include/aarch64-linux-gnu -isystem =/usr/include -B${METAPACK_ARM64_ROOT}/usr/lib/aarch64-linux-gnu")
set(CMAKE_EXE_LINKER_FLAGS_INIT "${places}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${places}")
set(CMAKE_FIND_ROOT_PATH ${METAPACK_ARM64_ROOT})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64-static -L ${METAPACK_ARM64_ROOT}) # QEMU_CPU chooses the processor
