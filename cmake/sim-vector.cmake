# SPDX-License-Identifier: BSD-3-Clause
# The vector core for warps of different sizes: vrPTX, its simulator, and what `metapack vsim` is made of.
file(GLOB SIM_VECTOR_SOURCES CONFIGURE_DEPENDS sim/vector/*.c)
add_library(sim_vector STATIC ${SIM_VECTOR_SOURCES})
target_include_directories(sim_vector PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(sim_vector PUBLIC borg_static Threads::Threads m)
# what a program computes does not depend on the compiler's choice
set_source_files_properties(sim/vector/lanes.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
install(DIRECTORY sim/vector/kernels sim/vector/machines DESTINATION ${CMAKE_INSTALL_DATADIR}/metapack/vector)
if(METAPACK_FUZZ)
    foreach(name vrptx machine warps)
        if(TARGET fuzz_${name})
            target_link_libraries(fuzz_${name} PRIVATE sim_vector)
        endif()
    endforeach()
endif()
