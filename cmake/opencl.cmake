# SPDX-License-Identifier: BSD-3-Clause
# The tests that run the kernels of src/kernels/cl as they stand need an OpenCL loader here (Debian: ocl-icd-opencl-dev)
# and a platform when they run (pocl-opencl-icd); without them they are skipped, and say so.
find_library(OPENCL_LIBRARY OpenCL)
find_path(OPENCL_INCLUDE_DIR CL/cl.h)
foreach(test factor parts)
    set(target test_kernels_cl_${test})
    if(TARGET ${target})
        target_compile_definitions(${target} PRIVATE
            METAPACK_SHIM="${CMAKE_CURRENT_SOURCE_DIR}/tests/kernels/cl/shim.cl")
        if(OPENCL_LIBRARY AND OPENCL_INCLUDE_DIR)
            target_compile_definitions(${target} PRIVATE METAPACK_OPENCL)
            target_include_directories(${target} PRIVATE ${OPENCL_INCLUDE_DIR})
            target_link_libraries(${target} PRIVATE ${OPENCL_LIBRARY})
        endif()
        set_tests_properties(kernels_cl_${test} PROPERTIES
            # the platform's compiler leaks when it compiles
            ENVIRONMENT "OPENBLAS_NUM_THREADS=1;POCL_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/pocl;ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
    endif()
endforeach()

# the same platform for what borgc's backend opencl emits
foreach(test emit random)
    if(TARGET test_borg_${test} AND OPENCL_LIBRARY AND OPENCL_INCLUDE_DIR)
        target_compile_definitions(test_borg_${test} PRIVATE METAPACK_OPENCL)
        target_include_directories(test_borg_${test} PRIVATE ${OPENCL_INCLUDE_DIR})
        target_link_libraries(test_borg_${test} PRIVATE ${OPENCL_LIBRARY})
        set_tests_properties(borg_${test} PROPERTIES ENVIRONMENT
            "POCL_CACHE_DIR=${CMAKE_CURRENT_BINARY_DIR}/pocl;ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
    endif()
endforeach()
