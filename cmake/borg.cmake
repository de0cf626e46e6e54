# SPDX-License-Identifier: BSD-3-Clause
# borgc, the compiler of batched kernels: a static library and the command around it. No dependencies.
file(GLOB_RECURSE BORG_SOURCES CONFIGURE_DEPENDS borg/*.c)
list(FILTER BORG_SOURCES EXCLUDE REGEX "/borg/main\\.c$")
set(MPKI_IF_NEEDED)
if(METAPACK_TEST_ROOMS) # the tests of some rooms: built if one of them takes it
    set(MPKI_IF_NEEDED EXCLUDE_FROM_ALL)
endif()
add_library(borg_static STATIC ${MPKI_IF_NEEDED} ${BORG_SOURCES})
target_include_directories(borg_static PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(borg_static PUBLIC m)
# the interpreter is the oracle: each operation rounds by itself
set_source_files_properties(borg/evaluate.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
metapack_sanitize_sources("${BORG_SOURCES}")
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/borg/main.c)
    add_executable(borgc ${MPKI_IF_NEEDED} borg/main.c src/core/output.c)
    target_include_directories(borgc PRIVATE src)
    target_compile_definitions(borgc PRIVATE BORG_VERSION="${PROJECT_VERSION}")
    target_link_libraries(borgc PRIVATE borg_static)
    if(NOT MPKI_IF_NEEDED)
        install(TARGETS borgc RUNTIME COMPONENT command)
    endif()
endif()
# opt and llc, for the tests of LLVM IR: any LLVM with opaque pointers
find_program(BORG_LLC NAMES llc-16 llc-19 llc-18 llc-17 llc-15 PATHS /usr/lib/llvm-16/bin /usr/lib/llvm-19/bin)
if(BORG_LLC)
    file(REAL_PATH ${BORG_LLC} BORG_LLC_REAL)
    get_filename_component(BORG_LLVM_FOLDER ${BORG_LLC_REAL} DIRECTORY)
else()
    message(STATUS "tests of the backend llvm: left out, llc was not found")
endif()
# the newest opt, whose checker reads the text of every kernel
find_program(BORG_OPT NAMES opt-23 opt-22 opt-21 opt-20 opt-19 opt-18 opt-17 opt-16 opt-15 opt)
find_package(Python3 COMPONENTS Interpreter QUIET)
if(NOT METAPACK_NVCC) # cmake/cuda.cmake looked for it
    message(STATUS "tests of CUDA C by its compiler: left out, nvcc was not found")
endif()
