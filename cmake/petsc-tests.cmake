# SPDX-License-Identifier: BSD-3-Clause
# Tests of the PETSc plug-in: programs that know PETSc only, and load it by -dll_append.

# MPI as it runs in containers and as root, on fewer cores than ranks
set(MPKI_MPI_ENVIRONMENT
    "OMP_NUM_THREADS=1" "OPENBLAS_NUM_THREADS=1" "OMPI_ALLOW_RUN_AS_ROOT=1" "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"
    "OMPI_MCA_rmaps_base_oversubscribe=1" "OMPI_MCA_plm_rsh_agent=" "OMPI_MCA_btl=self,vader"
    "OMPI_MCA_btl_vader_single_copy_mechanism=none" "OMPI_MCA_mpi_yield_when_idle=1")

# mpki_petsc_test(NAME FLAVOUR RANKS COMMAND...): one run with the plug-in loaded
function(mpki_petsc_test name flavour ranks)
    set(command ${ARGN})
    list(POP_FRONT command program)
    set(command $<TARGET_FILE:${program}> ${command})
    if(ranks GREATER 1)
        list(PREPEND command ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks})
    endif()
    add_test(NAME plugins_petsc_${flavour}_${name} COMMAND ${command})
    set_tests_properties(plugins_petsc_${flavour}_${name} PROPERTIES LABELS plugins TIMEOUT 300
        PROCESSORS ${ranks}
        ENVIRONMENT "${MPKI_MPI_ENVIRONMENT};PETSC_OPTIONS=-dll_append $<TARGET_FILE:metapack_petsc_${flavour}>")
endfunction()

# ---- each flavour: what the plug-in does, alone ---------------------------------------------------
file(GLOB MPKI_PETSC_TESTS CONFIGURE_DEPENDS tests/plugins/petsc/*.c)
foreach(flavour ${MPKI_PETSC_FLAVOURS})
    mpki_petsc_program(petsc_saddle_${flavour} ${flavour} examples/petsc/saddle.c)
    foreach(source ${MPKI_PETSC_TESTS})
        get_filename_component(name ${source} NAME_WE)
        mpki_petsc_program(petsc_${name}_${flavour} ${flavour} ${source})
        mpki_petsc_test(${name} ${flavour} 1 petsc_${name}_${flavour})
    endforeach()
    # the help is made from the library's table of options
    mpki_petsc_test(help ${flavour} 1 petsc_saddle_${flavour} -help -pc_type cholesky
                    -pc_factor_mat_solver_type metapack)
    set_tests_properties(plugins_petsc_${flavour}_help PROPERTIES PASS_REGULAR_EXPRESSION
        "mat_metapack_drop_tolerance <0.0001 : 0.0001>: drop entries of L that are not above this times the norm of their column")
    foreach(other ${MPKI_PETSC_FLAVOURS}) # a plug-in of another build is refused, with the reason
        if(NOT other STREQUAL flavour)
            add_test(NAME plugins_petsc_${flavour}_refuses_${other}
                     COMMAND petsc_saddle_${flavour} -dll_append $<TARGET_FILE:metapack_petsc_${other}>)
            set_tests_properties(plugins_petsc_${flavour}_refuses_${other} PROPERTIES LABELS plugins
                PASS_REGULAR_EXPRESSION "METAPACK: this plug-in was compiled for a PETSc with"
                ENVIRONMENT "${MPKI_MPI_ENVIRONMENT}")
        endif()
    endforeach()
endforeach()

# ---- the example, in parallel: Stokes and a KKT system under PETSc's preconditioners -------------
set(right -ksp_type gmres -ksp_pc_side right)
set(sub -sub_pc_type cholesky -sub_pc_factor_mat_solver_type metapack)
set(MPKI_SADDLE_cholesky -ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type metapack)
set(MPKI_SADDLE_sqmr -ksp_type sqmr -pc_type icc -pc_factor_mat_solver_type metapack)
set(MPKI_SADDLE_minres -ksp_type minres -ksp_rtol 1e-10 -pc_type icc -pc_factor_mat_solver_type metapack
    -mat_metapack_absd -mat_metapack_level 3 -mat_metapack_fill_factor 0)
set(MPKI_SADDLE_isai ${MPKI_SADDLE_sqmr} -mat_metapack_triangular isai -mat_metapack_isai_power 2
    -mat_metapack_isai_relax 2)
set(MPKI_SADDLE_asm ${right} -pc_type asm ${sub})
set(MPKI_SADDLE_bjacobi ${right} -pc_type bjacobi ${sub} -dm_mat_type sbaij)
set(MPKI_SADDLE_bjacobi_icc -ksp_type sqmr -pc_type bjacobi -sub_pc_type icc
    -sub_pc_factor_mat_solver_type metapack)
set(MPKI_SADDLE_redundant -ksp_type preonly -pc_type redundant -redundant_pc_type cholesky
    -redundant_pc_factor_mat_solver_type metapack)
set(MPKI_SADDLE_fieldsplit -ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_block_size 3
    -pc_fieldsplit_0_fields 0,1 -pc_fieldsplit_1_fields 2 -pc_fieldsplit_type schur
    -pc_fieldsplit_schur_fact_type full -pc_fieldsplit_schur_precondition selfp
    -fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type redundant
    -fieldsplit_0_redundant_pc_type cholesky -fieldsplit_0_redundant_pc_factor_mat_solver_type metapack
    -fieldsplit_1_ksp_type gmres -fieldsplit_1_ksp_rtol 1e-4 -fieldsplit_1_pc_type bjacobi
    -fieldsplit_1_sub_pc_type cholesky -fieldsplit_1_sub_pc_factor_mat_solver_type metapack)
list(GET MPKI_PETSC_FLAVOURS -1 last)
foreach(problem stokes control)
    foreach(flavour ${MPKI_PETSC_FLAVOURS})
        foreach(way cholesky sqmr minres isai)
            if(NOT "${problem} ${way}" STREQUAL "stokes minres")
                mpki_petsc_test(${problem}_${way} ${flavour} 1 petsc_saddle_${flavour} -problem ${problem} -n 24
                                ${MPKI_SADDLE_${way}})
            endif()
        endforeach()
        foreach(ranks 2 4)
            mpki_petsc_test(${problem}_asm_${ranks} ${flavour} ${ranks} petsc_saddle_${flavour}
                            -problem ${problem} -n 24 ${MPKI_SADDLE_asm})
        endforeach()
    endforeach()
    foreach(ranks 1 2 4)
        foreach(way bjacobi bjacobi_icc redundant fieldsplit)
            if(TARGET petsc_saddle_real)
                mpki_petsc_test(${problem}_${way}_${ranks} real ${ranks} petsc_saddle_real
                                -problem ${problem} -n 24 ${MPKI_SADDLE_${way}})
            endif()
        endforeach()
    endforeach()
endforeach()

# Approximate inverses are not only asked for.
if(TARGET petsc_saddle_real)
    mpki_petsc_test(view_isai real 1 petsc_saddle_real -n 12 ${MPKI_SADDLE_isai} -ksp_view)
    set_tests_properties(plugins_petsc_real_view_isai PROPERTIES
        PASS_REGULAR_EXPRESSION "approximate inverses of the triangles: [0-9]+ entries, longest column [0-9]+, 2 sweeps[^\n]*\n *columns by length, up to( [0-9]+: [0-9]+,)+ over the limit 0")
    string(REPLACE "triangular isai" "triangular auto" chosen "${MPKI_SADDLE_isai}")
    string(REPLACE "triangular;isai" "triangular;auto" chosen "${chosen}")
    mpki_petsc_test(view_auto real 1 petsc_saddle_real -n 12 ${chosen} -ksp_view)
    set_tests_properties(plugins_petsc_real_view_auto PROPERTIES
        PASS_REGULAR_EXPRESSION "an application: [0-9.e-]+ s exactly, [0-9.e-]+ s by approximate inverses, ")
endif()

# A matrix that is spread over ranks is not ours: PETSc says so.
if(TARGET petsc_saddle_real)
    mpki_petsc_test(spread real 2 petsc_saddle_real -n 8 ${MPKI_SADDLE_cholesky})
    set_tests_properties(plugins_petsc_real_spread PROPERTIES
        PASS_REGULAR_EXPRESSION "MatSolverType metapack does not support matrix type mpiaij")
endif()

# ---- valgrind: no leak, no bad access, on one rank -----------------------------------------------
find_program(VALGRIND valgrind)
set(MPKI_VALGRIND_ISAS ${MPKI_ISA_NAMES})
list(REMOVE_ITEM MPKI_VALGRIND_ISAS avx512) # valgrind has no such instructions
if(VALGRIND AND MPKI_VALGRIND_ISAS AND TARGET petsc_saddle_real)
    set(MPKI_VALGRIND ${VALGRIND} -q --keep-debuginfo=yes --error-exitcode=9 --leak-check=full --show-leak-kinds=definite
        --errors-for-leak-kinds=definite --num-callers=30
        --suppressions=${CMAKE_CURRENT_SOURCE_DIR}/tests/plugins/petsc/valgrind.supp)
    # mpki_petsc_valgrind(NAME FLAVOUR PROGRAM ARGUMENTS...)
    function(mpki_petsc_valgrind name flavour program)
        set(test plugins_petsc_${flavour}_valgrind_${name})
        add_test(NAME ${test} COMMAND ${MPKI_VALGRIND} $<TARGET_FILE:${program}> ${ARGN})
        set_tests_properties(${test} PROPERTIES LABELS plugins TIMEOUT 300
            ENVIRONMENT "${MPKI_MPI_ENVIRONMENT};PETSC_OPTIONS=-dll_append $<TARGET_FILE:metapack_petsc_${flavour}>")
    endfunction()
    foreach(name errors factor krylov)
        mpki_petsc_valgrind(${name} real petsc_${name}_real)
    endforeach()
    mpki_petsc_valgrind(saddle real petsc_saddle_real -problem control -n 8 ${MPKI_SADDLE_cholesky})
    if(TARGET petsc_factor_complex)
        mpki_petsc_valgrind(factor complex petsc_factor_complex)
    endif()
else()
    message(STATUS "PETSc plug-in: valgrind was not found, or knows none of METAPACK_ISAS: its tests are left out")
endif()

# ---- SLEPc: spectrum slicing ----------------------------------------------------------------------
file(GLOB MPKI_SLEPC_DIRS /usr/lib/slepcdir/slepc*/*-linux-gnu-*)
if(DEFINED ENV{SLEPC_DIR})
    list(PREPEND MPKI_SLEPC_DIRS $ENV{SLEPC_DIR}/$ENV{PETSC_ARCH} $ENV{SLEPC_DIR})
endif()
foreach(dir ${MPKI_SLEPC_DIRS})
    if(NOT EXISTS ${dir}/lib/pkgconfig/SLEPc.pc)
        continue()
    endif()
    foreach(flavour ${MPKI_PETSC_FLAVOURS}) # the one whose name ends like SLEPc's folder
        get_filename_component(arch "${MPKI_PETSC_DIR_${flavour}}" NAME)
        if(NOT TARGET petsc_slicing_${flavour} AND dir MATCHES "slepc[0-9.]*/${arch}$"
           AND NOT flavour MATCHES "int64")
            execute_process(COMMAND ${CMAKE_COMMAND} -E env
                PKG_CONFIG_PATH=${dir}/lib/pkgconfig:${MPKI_PETSC_DIR_${flavour}}/lib/pkgconfig
                ${PKG_CONFIG_EXECUTABLE} --libs SLEPc OUTPUT_VARIABLE libs OUTPUT_STRIP_TRAILING_WHITESPACE)
            separate_arguments(libs UNIX_COMMAND "${libs}")
            mpki_petsc_program(petsc_slicing_${flavour} ${flavour} tests/plugins/petsc/slepc/slicing.c)
            target_include_directories(petsc_slicing_${flavour} SYSTEM PRIVATE ${dir}/include)
            target_link_libraries(petsc_slicing_${flavour} PRIVATE ${libs})
            mpki_petsc_test(slepc_slicing ${flavour} 1 petsc_slicing_${flavour})
        endif()
    endforeach()
endforeach()
if(NOT MPKI_SLEPC_DIRS)
    message(STATUS "PETSc plug-in: SLEPc was not found, spectrum slicing is not tested")
endif()

# ---- real KKT systems from files, and PETSc's own examples of saddle points -----------------------
# (Debian: libpetsc3.*-dev-examples). Of the Stokes problems the block that is symmetric is ours: their
# boundary conditions leave the whole matrix without symmetry, which -pc_type cholesky then refuses.
find_program(PYTHON3 python3)
set(kkt ${CMAKE_CURRENT_BINARY_DIR}/petsc/kkt.petsc)
if(PYTHON3 AND TARGET petsc_saddle_real)
    add_test(NAME plugins_petsc_real_kkt_file COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/bench/petsc_matrix.py
             ${CMAKE_CURRENT_SOURCE_DIR}/data/acopf/ACTIVSg200_AC_02.mtx.xz ${kkt})
    set_tests_properties(plugins_petsc_real_kkt_file PROPERTIES LABELS plugins FIXTURES_SETUP petsc_kkt)
    mpki_petsc_test(kkt_cholesky real 1 petsc_saddle_real -f ${kkt} ${MPKI_SADDLE_cholesky})
    set_tests_properties(plugins_petsc_real_kkt_cholesky PROPERTIES FIXTURES_REQUIRED petsc_kkt
        PASS_REGULAR_EXPRESSION "inertia: 2768 positive, 1876 negative, 0 zero")
endif()

# mpki_petsc_example(NAME PATH RANKS EXPRESSION ARGUMENTS...): right if the output matches, and no error
set(MPKI_PETSC_EXAMPLES ${MPKI_PETSC_DIR_real}/share/petsc/examples/src)
function(mpki_petsc_example name path ranks expression)
    string(MAKE_C_IDENTIFIER petsc_${path} target)
    if(NOT TARGET ${target})
        mpki_petsc_program(${target} real ${MPKI_PETSC_EXAMPLES}/${path}.c)
        target_compile_options(${target} PRIVATE -w -O0) # what takes time there is PETSc
    endif()
    mpki_petsc_test(example_${name}_${ranks} real ${ranks} ${target} ${ARGN})
    set_tests_properties(plugins_petsc_real_example_${name}_${ranks} PROPERTIES
        PASS_REGULAR_EXPRESSION "${expression}" FAIL_REGULAR_EXPRESSION "PETSC ERROR;did not converge")
endfunction()

if(TARGET petsc_saddle_real AND EXISTS ${MPKI_PETSC_EXAMPLES}/ksp/ksp/tutorials/ex42.c)
    set(tutorials ksp/ksp/tutorials)
    set(split -stokes_pc_use_amat -stokes_ksp_type fgmres -stokes_pc_type fieldsplit
        -stokes_pc_fieldsplit_type SYMMETRIC_MULTIPLICATIVE -stokes_fieldsplit_u_ksp_type preonly
        -stokes_fieldsplit_p_ksp_type preonly -stokes_fieldsplit_p_pc_type jacobi -stokes_ksp_converged_reason)
    set(velocity_1 -stokes_fieldsplit_u_pc_type cholesky -stokes_fieldsplit_u_pc_factor_mat_solver_type metapack)
    set(velocity_4 -stokes_fieldsplit_u_pc_type asm -stokes_fieldsplit_u_sub_pc_type cholesky
        -stokes_fieldsplit_u_sub_pc_factor_mat_solver_type metapack)
    foreach(ranks 1 4)
        mpki_petsc_example(ex42 ${tutorials}/ex42 ${ranks} "CONVERGED_RTOL" -mx 6 ${split} ${velocity_${ranks}})
        mpki_petsc_example(ex43 ${tutorials}/ex43 ${ranks} "CONVERGED_RTOL" -mx 24 -my 24 -c_str 0
            -solcx_eta0 1 -solcx_eta1 1e6 -solcx_xc 0.5 -solcx_nz 2 ${split} -stokes_pc_fieldsplit_block_size 3
            ${velocity_${ranks}})
    endforeach()
    mpki_petsc_example(ex70 ${tutorials}/ex70 1 "CONVERGED_RTOL" -no_view -mx 16 -my 16 -nt 1
        -stokes_ksp_converged_reason -stokes_pc_type fieldsplit -stokes_pc_fieldsplit_type schur ${velocity_1})
    mpki_petsc_example(ex62 snes/tutorials/ex62 1 "CONVERGED_RTOL.*1 SNES Function norm [0-9.]*e-(0[5-9]|1)"
        -dm_plex_simplex 0 -dm_plex_box_faces 8,8 -vel_petscspace_degree 2 -pres_petscspace_degree 1 -sol trig
        -ksp_type fgmres -pc_type fieldsplit -pc_fieldsplit_type schur -pc_fieldsplit_schur_precondition a11
        -fieldsplit_velocity_pc_type cholesky -fieldsplit_velocity_pc_factor_mat_solver_type metapack
        -fieldsplit_pressure_ksp_rtol 1e-10 -fieldsplit_pressure_pc_type jacobi -snes_monitor -ksp_converged_reason)
    set(sbaij -mat_ignore_lower_triangular -mat_type)
    mpki_petsc_example(ex24 ksp/ksp/tests/ex24 1 "SYMMLQ.*Residual norm [0-9.]*e-1" ${sbaij} seqsbaij -pc_type icc
        -pc_factor_mat_solver_type metapack -mat_metapack_absd)
    mpki_petsc_example(ex24 ksp/ksp/tests/ex24 2 "SYMMLQ.*Residual norm [0-9.]*e-1" ${sbaij} mpisbaij
        -pc_type bjacobi -sub_pc_type icc -sub_pc_factor_mat_solver_type metapack -sub_mat_metapack_absd)
    mpki_petsc_example(ex10 ${tutorials}/ex10 1 "Residual norm (< 1.e-12|[0-9.]*e-(0[6-9]|1))" -f ${kkt}
        -ksp_type preonly -pc_type cholesky -pc_factor_mat_solver_type metapack -ksp_converged_reason)
    set_tests_properties(plugins_petsc_real_example_ex10_1 PROPERTIES FIXTURES_REQUIRED petsc_kkt)
else()
    message(STATUS "PETSc plug-in: PETSc's examples were not found (Debian: libpetsc3.*-dev-examples), not tested with them")
endif()
