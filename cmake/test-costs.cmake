# SPDX-License-Identifier: BSD-3-Clause
# In a first run CTest does not know which tests take long: a long one that is started last leaves all processors but
# one idle. NAME:COST, in seconds of one core or about.
foreach(entry oracle_random:900 oracle_cases:800 matrices:1000 python:70 engines_cuda_multifrontal_plan:60 engines_cuda_triangular_solve:30 borg_emit:90 borg_emit_parts:100 borg_random:40 pipeline_memory_faults:40
        batch_z:30 batch_c:30 batch_d:20 batch_s:20 kernels_cl_factor:30 engines_cuda_multifrontal_trouble:25 data:30)
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 name)
    list(GET entry 1 cost)
    if(TEST ${name})
        set_tests_properties(${name} PROPERTIES COST ${cost})
    endif()
endforeach()
# What borgc emits is compiled and run once, in the build without sanitizers: neither the text nor its object is
# instrumented. Here borgc makes all of it.
foreach(name borg_complex borg_emit borg_emit_parts borg_fast_rcp borg_flat borg_loops borg_math borg_narrow borg_nontemporal borg_random sim_spatial_pipeline
        sim_synthesize_synthesize)
    if(METAPACK_SANITIZE AND TEST ${name})
        set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT BORG_CC=none)
    endif()
endforeach()
# an instrumented interpreter takes six times as long: fewer random programs
if(METAPACK_SANITIZE AND TEST borg_random)
    set_property(TEST borg_random APPEND PROPERTY ENVIRONMENT BORG_RANDOM=50)
endif()
# under sanitizers these come last by name
if(METAPACK_SANITIZE)
    foreach(name adaptive_adaptive factor_sweeps pipeline_memory_faults pipeline_stop solve_contexts solve_least_orders solve_sparse)
        if(TEST ${name})
            set_tests_properties(${name} PROPERTIES COST 20)
        endif()
    endforeach()
endif()
# left to tools/check-all: what the others of their kind cover, but for numbers
set(MPKI_LEFT)
if(METAPACK_SANITIZE)
    set(MPKI_LEFT example_active_set example_quadratic pipeline_scale)
endif()
# single complex has the code of double complex, and its small tests run
foreach(name ${MPKI_LEFT} systems_many kernels_block_factor_c kernels_block_operations_c engines_cpu_dense_methods_c engines_cpu_front_front_c
        batch_c sim_synthesize_synthesize plugins_petsc_real_valgrind_krylov plugins_petsc_real_valgrind_saddle plugins_petsc_real_valgrind_factor plugins_petsc_complex_valgrind_factor)
    if(TEST ${name})
        set_property(TEST ${name} APPEND PROPERTY LABELS long)
    endif()
endforeach()
