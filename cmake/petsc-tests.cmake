# SPDX-License-Identifier: BSD-3-Clause
# Tests of the PETSc plug-in: programs that know PETSc only, and load it by -dll_append.

# MPI as it runs in containers and as root, on fewer cores than ranks
set(MPKI_MPI_ENVIRONMENT
    "OMP_NUM_THREADS=1" "OPENBLAS_NUM_THREADS=1" "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    "OMPI_MCA_rmaps_base_oversubscribe=1" "OMPI_MCA_plm_rsh_agent=" "OMPI_MCA_btl=self,vader"
    "OMPI_MCA_btl_vader_single_copy_mechanism=none")

# mpki_petsc_test(NAME FLAVOUR RANKS COMMAND...): one run with the plug-in loaded
function(mpki_petsc_test name flavour ranks)
    set(command ${ARGN})
    if(ranks GREATER 1)
        list(PREPEND command ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks})
    endif()
    add_test(NAME petsc_${flavour}_${name} COMMAND ${command})
    set(plugin $<TARGET_FILE:metapack_petsc_${flavour}>)
    set_tests_properties(petsc_${flavour}_${name} PROPERTIES LABELS plugins TIMEOUT 300
                         PROCESSORS ${ranks}
                         ENVIRONMENT "${MPKI_MPI_ENVIRONMENT};PETSC_OPTIONS=-dll_append ${plugin}")
endfunction()

foreach(flavour ${MPKI_PETSC_FLAVOURS})
    mpki_petsc_program(petsc_saddle_${flavour} ${flavour} examples/petsc/saddle.c)
    file(GLOB MPKI_PETSC_TESTS CONFIGURE_DEPENDS tests/plugins/petsc/*.c)
    foreach(source ${MPKI_PETSC_TESTS})
        get_filename_component(name ${source} NAME_WE)
        mpki_petsc_program(petsc_${name}_${flavour} ${flavour} ${source})
        mpki_petsc_test(${name} ${flavour} 1 petsc_${name}_${flavour})
    endforeach()
endforeach()
