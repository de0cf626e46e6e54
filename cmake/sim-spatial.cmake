# SPDX-License-Identifier: BSD-3-Clause
# Simulators of accelerators: spatial pipelines, systolic arrays, and the accelerators made of them.
if(METAPACK_SIM)
    file(GLOB_RECURSE MPKI_SIM_SPATIAL CONFIGURE_DEPENDS sim/spatial/*.c sim/systolic/*.c sim/accelerator/*.c
         sim/synthesize/*.c)
    add_library(sim_spatial STATIC ${MPKI_SIM_SPATIAL})
    target_include_directories(sim_spatial PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_link_libraries(sim_spatial PUBLIC borg_static m)
endif()
