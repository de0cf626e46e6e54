# SPDX-License-Identifier: BSD-3-Clause
# The CUDA backend: a module of its own, libmetapack_cuda.so, which the library loads when a device is first asked
# for. Without nvcc everything else builds, and a device is refused with the reason.
set(METAPACK_CUDA AUTO CACHE STRING "AUTO | ON | OFF: the CUDA module, built where nvcc and cuBLAS are found")
set(METAPACK_CUDA_ARCH sm_90 CACHE STRING "what nvcc compiles for")
set(METAPACK_CUDA_ROOMS "dense;batch;vectors;blocks;sweeps;direct" CACHE STRING
    "what of src/backends/cuda the module has: dense takes half of its build's time, batch most of the rest")
include(cmake/cuda-kernels.cmake)
file(GLOB places /usr/local/cuda*/bin)
find_program(METAPACK_NVCC nvcc HINTS ${places})
set(MPKI_HAVE_CUDA 1) # the loader; OFF leaves that out too
if(METAPACK_CUDA STREQUAL "OFF")
    set(MPKI_HAVE_CUDA 0)
endif()

# One object of a module, added to `objects`: [compile] is the compiler with its flags, [needs] what is included.
macro(metapack_cuda_object name file needs compile)
    set(out ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o)
    add_custom_command(OUTPUT ${out} DEPENDS ${file} ${needs}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cuda
        COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${compile} ${ARGN} -c ${file} -o ${out}
        COMMENT "${name}.o" VERBATIM)
    list(APPEND objects ${out})
endmacro()

# The objects of borgc's kernels in [place], listed as cmake/cuda-kernels.cmake says; names begin with [prefix].
macro(metapack_cuda_emitted_objects kernels place prefix needs compile)
    mpki_cuda_kernels("${kernels}" files ${place})
    foreach(entry ${files})
        string(REPLACE "|" ";" entry ${entry})
        list(GET entry 0 file)
        list(GET entry 1 emitted)
        list(GET entry 2 name)
        metapack_cuda_object(${prefix}${name} ${file} "${emitted};${needs}" "${compile}")
    endforeach()
endmacro()

function(metapack_cuda_module)
    if(METAPACK_CUDA STREQUAL "OFF" OR (METAPACK_SANITIZE AND NOT METAPACK_CUDA STREQUAL "ON"))
        return()
    endif()
    if(METAPACK_NVCC)
        get_filename_component(nvcc ${METAPACK_NVCC} REALPATH)
        get_filename_component(home ${nvcc} DIRECTORY)
        get_filename_component(home ${home} DIRECTORY)
        find_library(METAPACK_CUBLAS cublas HINTS ${home}/lib64 ${home}/lib ${home}/targets/x86_64-linux/lib)
        find_path(METAPACK_CUBLAS_INCLUDE cublas_v2.h HINTS ${home}/include ${home}/targets/x86_64-linux/include)
    endif()
    if(NOT METAPACK_NVCC OR NOT METAPACK_CUBLAS OR NOT METAPACK_CUBLAS_INCLUDE)
        if(METAPACK_CUDA STREQUAL "ON")
            message(FATAL_ERROR "METAPACK_CUDA=ON, but nvcc, cublas_v2.h or libcublas was not found")
        endif()
        message(STATUS "CUDA module: not built (nvcc, cublas_v2.h or libcublas not found)")
        return()
    endif()
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/src/backends/cuda)
    file(GLOB_RECURSE headers CONFIGURE_DEPENDS ${source}/*.cuh ${source}/*.h)
    set(templated)
    set(tables)
    foreach(room ${METAPACK_CUDA_ROOMS})
        file(GLOB more CONFIGURE_DEPENDS ${source}/${room}/*_t.cu)
        list(APPEND templated ${more})
        file(GLOB more CONFIGURE_DEPENDS ${source}/${room}/${room}.cu)
        list(APPEND tables ${more})
    endforeach()
    set(around ${source}/api.h ${source}/runtime.cuh ${source}/scalar.cuh ${source}/batch/emitted.cuh
        ${source}/batch/launch.cuh ${source}/batch/tile.cuh ${source}/batch/batch.h)
    set(compile ${METAPACK_NVCC} -std=c++17 -O3 -arch=${METAPACK_CUDA_ARCH} -I${CMAKE_CURRENT_SOURCE_DIR}/include
        -Xcompiler=-fPIC,-fvisibility=hidden,-Wall)
    set(objects)
    metapack_cuda_object(module ${source}/module.cu "${headers}" "${compile}")
    foreach(file ${tables})
        get_filename_component(name ${file} NAME_WE)
        metapack_cuda_object(${name} ${file} "${headers}" "${compile}")
    endforeach()
    foreach(file ${templated})
        get_filename_component(name ${file} NAME_WE)
        foreach(precision RANGE 3)
            metapack_cuda_object(${name}${precision} ${file} "${headers}" "${compile}" -DMPKI_PRECISION=${precision})
        endforeach()
    endforeach()
    # for clangd (.clangd): custom commands are in no database of CMake's, and the words are clang's, not nvcc's
    set(database)
    set(comma)
    foreach(file ${source}/module.cu ${tables} ${templated})
        string(APPEND database "${comma}{\"directory\": \"${CMAKE_CURRENT_BINARY_DIR}\", \"file\": \"${file}\", "
            "\"command\": \"clang++ -x cuda --cuda-path=${home} --cuda-gpu-arch=${METAPACK_CUDA_ARCH} -std=c++17 "
            "-DMPKI_PRECISION=1 -I${CMAKE_CURRENT_SOURCE_DIR}/include -c ${file}\"}")
        set(comma ",\n")
    endforeach()
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/cuda/compile_commands.json "[${database}]\n")
    if("batch" IN_LIST METAPACK_CUDA_ROOMS)
        metapack_cuda_emitted_objects("${MPKI_CUDA_${METAPACK_CUDA_KERNELS}}" borg "" "${around}" "${compile}")
    endif()
    get_filename_component(libraries ${METAPACK_CUBLAS} DIRECTORY)
    set(module ${CMAKE_CURRENT_BINARY_DIR}/libmetapack_cuda.so)
    # where nvcc's libraries lie is written into the module, so that the loader finds cuBLAS
    add_custom_command(OUTPUT ${module} DEPENDS ${objects}
        COMMAND ${METAPACK_NVCC} -shared -arch=${METAPACK_CUDA_ARCH} -o ${module} ${objects} -L${libraries}
                -Xlinker=-rpath,${libraries} -lcublas
        COMMENT "libmetapack_cuda.so" VERBATIM)
    add_custom_target(metapack_cuda ALL DEPENDS ${module})
    install(FILES ${module} DESTINATION ${CMAKE_INSTALL_LIBDIR})
    message(STATUS "CUDA module: ${METAPACK_NVCC}, ${METAPACK_CUDA_ARCH}")
    if(METAPACK_BENCH) # whole solutions on the device: ninja dense_system
        add_executable(dense_system EXCLUDE_FROM_ALL bench/dense/system.c)
        target_include_directories(dense_system PRIVATE src ${CMAKE_CURRENT_BINARY_DIR}/config)
        target_link_libraries(dense_system PRIVATE metapack_static m)
        # the multifrontal engine: ninja cuda_direct
        add_executable(cuda_direct EXCLUDE_FROM_ALL bench/cuda/direct.c)
        target_include_directories(cuda_direct PRIVATE src ${CMAKE_CURRENT_BINARY_DIR}/config)
        target_link_libraries(cuda_direct PRIVATE metapack_static m)
        # batches in device memory beside cuBLAS: bench/device-batch
        add_executable(device_batch EXCLUDE_FROM_ALL bench/batch/device.c)
        target_include_directories(device_batch PRIVATE ${METAPACK_CUBLAS_INCLUDE})
        target_link_options(device_batch PRIVATE -L${libraries} LINKER:-rpath,${libraries})
        target_link_libraries(device_batch PRIVATE metapack_static cudart_static cublas rt m ${CMAKE_DL_LIBS})
    endif()
endfunction()

# A module that has no device: the kernels for batches compiled for the host, a block's threads as contexts that take
# turns. The tests of batches in device memory load it where there is no GPU. Needs a C++ compiler; else they have nothing
# to test.
function(metapack_cuda_host_module)
    find_program(METAPACK_HOST_CXX NAMES c++ g++ clang++)
    if(METAPACK_SANITIZE MATCHES thread)
        return() # contexts that take turns are not for it
    endif()
    if(NOT METAPACK_HOST_CXX OR NOT MPKI_HAVE_CUDA)
        message(STATUS "tests of batches in device memory: left out without a GPU (no C++ compiler, or METAPACK_CUDA=OFF)")
        return()
    endif()
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/src/backends/cuda)
    set(host ${CMAKE_CURRENT_SOURCE_DIR}/tests/backends/cuda_host)
    file(GLOB headers CONFIGURE_DEPENDS ${source}/*.cuh ${source}/*.h ${source}/batch/*.cuh ${source}/batch/*.h ${host}/*.h)
    file(GLOB sparse_headers CONFIGURE_DEPENDS ${source}/vectors/*.*h ${source}/blocks/*.*h ${source}/sweeps/*.*h ${source}/direct/*.*h)
    file(GLOB sparse_tables CONFIGURE_DEPENDS ${source}/vectors/vectors.cu ${source}/blocks/blocks.cu ${source}/sweeps/sweeps.cu
         ${source}/direct/direct.cu)
    file(GLOB sparse_templated CONFIGURE_DEPENDS ${source}/vectors/*_t.cu ${source}/blocks/*_t.cu ${source}/sweeps/*_t.cu
         ${source}/direct/*_t.cu)
    set(compile ${METAPACK_HOST_CXX} -std=c++17 -O1 -fPIC -fvisibility=hidden -U_FORTIFY_SOURCE -I${host}
        -I${CMAKE_CURRENT_SOURCE_DIR}/src -I${CMAKE_CURRENT_SOURCE_DIR}/include -x c++)
    set(objects)
    metapack_cuda_object(host_module ${host}/module.cpp "${headers}" "${compile}")
    metapack_cuda_object(host_batch ${source}/batch/batch.cu "${headers}" "${compile}")
    foreach(precision RANGE 3)
        metapack_cuda_object(host_batch_t${precision} ${source}/batch/batch_t.cu "${headers}" "${compile}"
            -DMPKI_PRECISION=${precision})
    endforeach()
    foreach(file ${sparse_tables})
        get_filename_component(name ${file} NAME_WE)
        metapack_cuda_object(host_${name} ${file} "${headers};${sparse_headers}" "${compile}")
    endforeach()
    foreach(file ${sparse_templated})
        get_filename_component(name ${file} NAME_WE)
        foreach(precision RANGE 3)
            metapack_cuda_object(host_${name}${precision} ${file} "${headers};${sparse_headers}" "${compile}"
                -DMPKI_PRECISION=${precision})
        endforeach()
    endforeach()
    # some of borgc's: what is around them is the same for all
    set(some "ldlt:1:0:0:4,8;ldlt_partial:1:2:1:4,8,16,31;ldlt_complete:1:4:1:13,31;ldu_partial:2:2:2:8;gemm_ab:product:0:0:4,8")
    if(METAPACK_SANITIZE)
        set(some "ldlt:1:0:0:4;ldlt_partial:1:2:1:8;ldu_partial:2:2:2:8;gemm_ab:product:0:0:8")
    endif()
    metapack_cuda_emitted_objects("${some}" host host_ "${headers}" "${compile}")
    set(module ${CMAKE_CURRENT_BINARY_DIR}/cuda/libmetapack_cuda_host.so)
    add_custom_command(OUTPUT ${module} DEPENDS ${objects}
        COMMAND ${METAPACK_HOST_CXX} -shared -o ${module} ${objects} COMMENT "libmetapack_cuda_host.so" VERBATIM)
    add_custom_target(metapack_cuda_host DEPENDS ${module})
    file(GLOB tests CONFIGURE_DEPENDS tests/backends/test_cuda_batch*.c tests/backends/test_cuda_sparse*.c)
    foreach(test ${tests})
        get_filename_component(name ${test} NAME_WE)
        string(REPLACE test_ test_backends_ name ${name})
        if(METAPACK_SANITIZE AND NOT name STREQUAL test_backends_cuda_batch)
            continue() # the sweeps take a quarter of a minute each there
        endif()
        if(NOT TARGET ${name})
            continue()
        endif()
        add_dependencies(${name} metapack_cuda_host)
        target_compile_definitions(${name} PRIVATE METAPACK_CUDA_HOST="${module}")
    endforeach()
    foreach(name test_cli_usage test_cli_device)
        if(TARGET ${name})
            add_dependencies(${name} metapack_cuda_host)
            target_compile_definitions(${name} PRIVATE METAPACK_CUDA_HOST="${module}")
        endif()
    endforeach()
endfunction()
