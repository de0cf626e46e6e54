# SPDX-License-Identifier: BSD-3-Clause
# borgc, the compiler of batched kernels: a static library and the command around it. No dependencies.
file(GLOB_RECURSE BORG_SOURCES CONFIGURE_DEPENDS borg/*.c)
list(FILTER BORG_SOURCES EXCLUDE REGEX "/borg/main\\.c$")
add_library(borg_static STATIC ${BORG_SOURCES})
target_include_directories(borg_static PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(borg_static PUBLIC m)
# the interpreter is the oracle: each operation rounds by itself
set_source_files_properties(borg/evaluate.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/borg/main.c)
    add_executable(borgc borg/main.c)
    target_link_libraries(borgc PRIVATE borg_static)
    install(TARGETS borgc)
endif()
