# SPDX-License-Identifier: BSD-3-Clause
# The CUDA backend: a module of its own, libmetapack_cuda.so, which the library loads when a device is first asked
# for. Without nvcc everything else builds, and a device is refused with the reason.
set(METAPACK_CUDA AUTO CACHE STRING "AUTO | ON | OFF: the CUDA module, built where nvcc and cuBLAS are found")
set(METAPACK_CUDA_ARCH sm_90 CACHE STRING "what nvcc compiles for")
set(MPKI_HAVE_CUDA 1) # the loader; OFF leaves that out too
if(METAPACK_CUDA STREQUAL "OFF")
    set(MPKI_HAVE_CUDA 0)
endif()

function(metapack_cuda_module)
    if(METAPACK_CUDA STREQUAL "OFF" OR (METAPACK_SANITIZE AND NOT METAPACK_CUDA STREQUAL "ON"))
        return()
    endif()
    file(GLOB places /usr/local/cuda*/bin)
    find_program(METAPACK_NVCC nvcc HINTS ${places})
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
    file(GLOB templated CONFIGURE_DEPENDS ${source}/dense/*_t.cu)
    set(flags -std=c++17 -O3 -arch=${METAPACK_CUDA_ARCH} -I${CMAKE_CURRENT_SOURCE_DIR}/include
        -Xcompiler=-fPIC,-fvisibility=hidden,-Wall)
    set(objects)
    macro(metapack_cuda_object file name)
        set(out ${CMAKE_CURRENT_BINARY_DIR}/cuda/${name}.o)
        add_custom_command(OUTPUT ${out} DEPENDS ${file} ${headers}
            COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/cuda
            COMMAND ${CMAKE_C_COMPILER_LAUNCHER} ${METAPACK_NVCC} ${flags} ${ARGN} -c ${file} -o ${out}
            COMMENT "nvcc ${name}" VERBATIM)
        list(APPEND objects ${out})
    endmacro()
    metapack_cuda_object(${source}/module.cu module)
    foreach(file ${templated})
        get_filename_component(name ${file} NAME_WE)
        foreach(precision RANGE 3)
            metapack_cuda_object(${file} ${name}${precision} -DMPKI_PRECISION=${precision})
        endforeach()
    endforeach()
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
    endif()
endfunction()
