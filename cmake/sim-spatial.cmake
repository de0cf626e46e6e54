# SPDX-License-Identifier: BSD-3-Clause
# Simulators of accelerators: spatial pipelines, systolic arrays, and the accelerators made of them.
if(METAPACK_SIM)
    # Texts that the simulators have with them: FILE as the bytes of an array, NAME.
    function(sim_embed name file)
        file(READ ${CMAKE_CURRENT_SOURCE_DIR}/${file} hex HEX)
        string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
        string(REGEX REPLACE "(0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,0x..,)" "\\1\n" bytes "${bytes}")
        file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/sim/${name}.c CONTENT
             "const char sim_${name}[] = {\n@bytes@0};\n" @ONLY)
        set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${file})
        set(MPKI_SIM_EMBEDDED ${MPKI_SIM_EMBEDDED} ${CMAKE_CURRENT_BINARY_DIR}/sim/${name}.c PARENT_SCOPE)
    endfunction()
    sim_embed(cells_trsv sim/systolic/programs/trsv.cells)
    sim_embed(cells_ldlt sim/systolic/programs/ldlt.cells)
    sim_embed(cells_gemm sim/systolic/programs/gemm.cells)
    sim_embed(cells_forward sim/systolic/programs/forward.cells)
    foreach(file solver.h parts.h solver.c values.c match.c order.c dense.c solve.c main.c blocks.cl run.c run.cu
                 Makefile)
        string(TOLOWER template_${file} name)
        string(REPLACE "." "_" name ${name})
        sim_embed(${name} sim/synthesize/templates/${file})
    endforeach()
    sim_embed(models_cl sim/models/models.cl)
    sim_embed(blocks_cl sim/accelerator/blocks.cl)
    file(GLOB MPKI_SIM_SPATIAL CONFIGURE_DEPENDS sim/spatial/*.c sim/systolic/*.c sim/accelerator/*.c sim/models/*.c
         sim/synthesize/*.c)
    add_library(sim_spatial STATIC ${MPKI_SIM_SPATIAL} ${MPKI_SIM_EMBEDDED})
    # the operations of a cell round one by one
    target_compile_options(sim_spatial PRIVATE -ffp-contract=off)
    target_include_directories(sim_spatial PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/include)
    target_link_libraries(sim_spatial PUBLIC borg_static m)
endif()
