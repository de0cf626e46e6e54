# SPDX-License-Identifier: BSD-3-Clause
# The benchmark: ours always, each peer where it is found. METAPACK_PEERS is what tools/fetch-peers filled. Every
# solver is its own program, so that no two OpenMP runtimes or BLAS libraries meet. They go into <build>/bench.
set(METAPACK_PEERS "" CACHE PATH "folder filled by tools/fetch-peers, or empty")
set(MPKI_BENCH_FOUND metapack)

# mpki_bench(NAME FILE LIBRARIES... ): one solver's program
function(mpki_bench name file)
    add_executable(bench_${name} bench/driver.c bench/${file})
    target_link_libraries(bench_${name} PRIVATE ${ARGN} m)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endfunction()

add_executable(bench_convert bench/convert.c)
target_link_libraries(bench_convert PRIVATE metapack)
set_target_properties(bench_convert PROPERTIES OUTPUT_NAME convert
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
mpki_bench(metapack peer_metapack.c metapack)
add_executable(bench_cores bench/cores.c) # the direct solver on several numbers of threads
target_include_directories(bench_cores PRIVATE src)
target_link_libraries(bench_cores PRIVATE metapack_static m)
set_target_properties(bench_cores PROPERTIES OUTPUT_NAME cores
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# MUMPS of Debian (libmumps-seq-dev): neither METIS nor OpenMP, its threads are those of OpenBLAS.
find_path(MPKI_MUMPS_INCLUDE dmumps_c.h)
find_library(MPKI_DMUMPS dmumps_seq)
find_library(MPKI_ZMUMPS zmumps_seq)
find_library(MPKI_BENCH_BLAS openblas)
if(MPKI_MUMPS_INCLUDE AND MPKI_DMUMPS AND MPKI_ZMUMPS AND MPKI_BENCH_BLAS)
    mpki_bench(mumps peer_mumps.c ${MPKI_DMUMPS} ${MPKI_ZMUMPS} ${MPKI_BENCH_BLAS})
    target_include_directories(bench_mumps PRIVATE ${MPKI_MUMPS_INCLUDE})
    list(APPEND MPKI_BENCH_FOUND mumps)
    add_executable(bench_selected_mumps bench/selected_mumps.c) # bench/selected.py
    target_include_directories(bench_selected_mumps PRIVATE ${MPKI_MUMPS_INCLUDE})
    target_link_libraries(bench_selected_mumps PRIVATE ${MPKI_DMUMPS} ${MPKI_BENCH_BLAS})
    set_target_properties(bench_selected_mumps PROPERTIES OUTPUT_NAME selected_mumps
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endif()

# The same release built from Debian's source with METIS, SCOTCH and OpenMP.
set(dir ${METAPACK_PEERS}/mumps)
if(METAPACK_PEERS AND EXISTS ${dir}/lib/libdmumps.a AND MPKI_BENCH_BLAS)
    find_library(MPKI_BENCH_METIS metis)
    find_library(MPKI_BENCH_ESMUMPS esmumps)
    find_library(MPKI_BENCH_SCOTCH scotch)
    find_library(MPKI_BENCH_SCOTCHERR scotcherr)
    file(GLOB MPKI_BENCH_FORTRAN /usr/lib/gcc/*/*/libgfortran.so)
    if(MPKI_BENCH_METIS AND MPKI_BENCH_ESMUMPS AND MPKI_BENCH_FORTRAN)
        list(GET MPKI_BENCH_FORTRAN -1 fortran)
        mpki_bench(mumps_metis peer_mumps.c ${dir}/lib/libdmumps.a ${dir}/lib/libzmumps.a
                   ${dir}/lib/libmumps_common.a ${dir}/lib/libpord.a ${dir}/libseq/libmpiseq.a
                   ${MPKI_BENCH_METIS} ${MPKI_BENCH_ESMUMPS} ${MPKI_BENCH_SCOTCH} ${MPKI_BENCH_SCOTCHERR}
                   ${MPKI_BENCH_BLAS} ${fortran})
        target_include_directories(bench_mumps_metis PRIVATE ${dir}/include)
        target_compile_options(bench_mumps_metis PRIVATE -fopenmp)
        target_link_options(bench_mumps_metis PRIVATE -fopenmp)
        list(APPEND MPKI_BENCH_FOUND mumps_metis)
    endif()
endif()

# SSIDS of the wheel cmeel-spral; it wants Debian's METIS and OpenBLAS.
set(dir ${METAPACK_PEERS}/ssids/cmeel.prefix)
if(METAPACK_PEERS AND EXISTS ${dir}/lib/libspral.so)
    mpki_bench(ssids peer_ssids.c ${dir}/lib/libspral.so)
    target_include_directories(bench_ssids PRIVATE ${dir}/include)
    target_compile_options(bench_ssids PRIVATE -fopenmp)
    target_link_options(bench_ssids PRIVATE -fopenmp -Wl,--allow-shlib-undefined)
    list(APPEND MPKI_BENCH_FOUND ssids)
endif()

# PARDISO of the wheels mkl, mkl-include and intel-openmp.
file(GLOB mkl ${METAPACK_PEERS}/pardiso/mkl-*.data/data/lib)
file(GLOB omp ${METAPACK_PEERS}/pardiso/intel_openmp-*.data/data/lib)
file(GLOB inc ${METAPACK_PEERS}/pardiso/mkl_include-*.data/data/include)
file(GLOB parts ${mkl}/libmkl_intel_lp64.so.* ${mkl}/libmkl_intel_thread.so.* ${mkl}/libmkl_core.so.*)
list(LENGTH parts count)
if(METAPACK_PEERS AND mkl AND omp AND inc AND count EQUAL 3)
    mpki_bench(pardiso peer_pardiso.c -Wl,--no-as-needed ${parts} ${omp}/libiomp5.so Threads::Threads
               ${CMAKE_DL_LIBS})
    target_include_directories(bench_pardiso PRIVATE ${inc})
    target_link_options(bench_pardiso PRIVATE -Wl,--allow-shlib-undefined)
    list(APPEND MPKI_BENCH_FOUND pardiso)
endif()
list(JOIN MPKI_BENCH_FOUND ", " found)
message(STATUS "benchmark: ${found}")

# The kernels on small blocks, by precision; they are not exported, so the static library it is.
foreach(precision RANGE 3)
    string(SUBSTRING "sdcz" ${precision} 1 letter)
    add_executable(bench_blocks_${letter} EXCLUDE_FROM_ALL bench/blocks.c)
    target_compile_definitions(bench_blocks_${letter} PRIVATE MPKI_PRECISION=${precision})
    target_include_directories(bench_blocks_${letter} PRIVATE src)
    target_link_libraries(bench_blocks_${letter} PRIVATE metapack_static m)
    set_target_properties(bench_blocks_${letter} PROPERTIES OUTPUT_NAME blocks_${letter}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endforeach()

# Memory predicted and taken: bench/memory.py.
add_executable(bench_memory EXCLUDE_FROM_ALL bench/memory.c)
target_include_directories(bench_memory PRIVATE src)
target_link_libraries(bench_memory PRIVATE metapack_static m)
set_target_properties(bench_memory PROPERTIES OUTPUT_NAME memory
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# Solves beside what memory and cores give: bench/solve_rates.py. OpenBLAS's dgemm where the library is linked with it.
add_executable(bench_solve_rates EXCLUDE_FROM_ALL bench/solve_rates.c)
target_include_directories(bench_solve_rates PRIVATE src)
target_link_libraries(bench_solve_rates PRIVATE metapack_static Threads::Threads m)
if(MPKI_BENCH_BLAS)
    target_compile_definitions(bench_solve_rates PRIVATE HAVE_OPENBLAS)
    target_link_libraries(bench_solve_rates PRIVATE ${MPKI_BENCH_BLAS})
endif()
set_target_properties(bench_solve_rates PROPERTIES OUTPUT_NAME solve_rates
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# Schur complements beside factorizations, and MUMPS's: bench/schur.py.
add_executable(bench_schur EXCLUDE_FROM_ALL bench/schur.c)
target_link_libraries(bench_schur PRIVATE metapack m)
if(TARGET bench_mumps)
    target_compile_definitions(bench_schur PRIVATE BENCH_MUMPS)
    target_include_directories(bench_schur PRIVATE ${MPKI_MUMPS_INCLUDE})
    target_link_libraries(bench_schur PRIVATE ${MPKI_DMUMPS} ${MPKI_BENCH_BLAS})
endif()
set_target_properties(bench_schur PROPERTIES OUTPUT_NAME schur
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# Analyses and factors from files, beside making them: bench/results/saving.md
add_executable(bench_saving EXCLUDE_FROM_ALL bench/saving.c)
target_link_libraries(bench_saving PRIVATE metapack)
set_target_properties(bench_saving PROPERTIES OUTPUT_NAME saving
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# Many systems of one pattern beside one after another: bench/results/systems.md
add_executable(bench_systems EXCLUDE_FROM_ALL bench/systems.c)
target_link_libraries(bench_systems PRIVATE metapack m)
set_target_properties(bench_systems PROPERTIES OUTPUT_NAME systems
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# Few rows of b and x: bench/results/sparse-sides.md
add_executable(bench_sparse_sides EXCLUDE_FROM_ALL bench/sparse_sides.c)
target_link_libraries(bench_sparse_sides PRIVATE metapack_static m)
set_target_properties(bench_sparse_sides PROPERTIES OUTPUT_NAME sparse_sides
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# The symbolic half of the methods on blocks.
add_executable(bench_lists EXCLUDE_FROM_ALL bench/lists.c)
target_include_directories(bench_lists PRIVATE src)
target_link_libraries(bench_lists PRIVATE metapack_static m)
set_target_properties(bench_lists PROPERTIES OUTPUT_NAME lists
                      RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)

# bench/pairs.py and bench/points.py compile these against two builds; here they are seen to compile.
foreach(name adaptive values)
    add_executable(bench_${name} bench/${name}.c)
    target_link_libraries(bench_${name} PRIVATE metapack m)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name} C_EXTENSIONS ON
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endforeach()

# What bench/jacobi.py and bench/sweeps.py need beside the command: a look into factors on blocks.
foreach(name reconstruct sweeps)
    add_executable(bench_${name} bench/${name}.c)
    target_compile_definitions(bench_${name} PRIVATE MPKI_PRECISION=1)
    target_include_directories(bench_${name} PRIVATE src)
    target_link_libraries(bench_${name} PRIVATE metapack_static Threads::Threads m)
    set_target_properties(bench_${name} PROPERTIES OUTPUT_NAME ${name}
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endforeach()

# SYM-ILDL, where its sources are: a checkout of github.com/inutard/matrix-factor.
set(METAPACK_SYMILDL "" CACHE PATH "folder of SYM-ILDL's sources, or empty: bench/ildlt.py")
if(METAPACK_SYMILDL)
    enable_language(CXX)
    add_executable(bench_symildl EXCLUDE_FROM_ALL bench/peer_symildl.cpp)
    target_include_directories(bench_symildl SYSTEM PRIVATE ${METAPACK_SYMILDL})
    target_include_directories(bench_symildl PRIVATE bench)
    target_compile_options(bench_symildl PRIVATE -O3 -w)
    target_link_libraries(bench_symildl PRIVATE metapack_static)
    set_target_properties(bench_symildl PROPERTIES OUTPUT_NAME symildl CXX_STANDARD 17
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endif()

# What runs on a device, a driver for each of its engines.
if(MPKI_HAVE_CUDA)
    file(GLOB MPKI_BENCH_CUDA CONFIGURE_DEPENDS bench/cuda/*.c)
    foreach(file ${MPKI_BENCH_CUDA})
        get_filename_component(name ${file} NAME_WE)
        add_executable(bench_cuda_${name} EXCLUDE_FROM_ALL ${file})
        target_include_directories(bench_cuda_${name} PRIVATE src ${CMAKE_CURRENT_BINARY_DIR}/config)
        target_link_libraries(bench_cuda_${name} PRIVATE metapack_static m ${CMAKE_DL_LIBS})
        set_target_properties(bench_cuda_${name} PROPERTIES OUTPUT_NAME cuda-${name}
                              RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
    endforeach()
    if(METAPACK_CUBLAS_INCLUDE AND EXISTS ${METAPACK_CUBLAS_INCLUDE}/cusparse.h)
        get_filename_component(libraries ${METAPACK_CUBLAS} DIRECTORY)
        target_compile_definitions(bench_cuda_sweeps PRIVATE BENCH_CUSPARSE)
        target_include_directories(bench_cuda_sweeps SYSTEM PRIVATE ${METAPACK_CUBLAS_INCLUDE})
        target_link_options(bench_cuda_sweeps PRIVATE -L${libraries} LINKER:-rpath,${libraries})
        target_link_libraries(bench_cuda_sweeps PRIVATE cusparse cudart_static rt)
    endif()
endif()

# Dense methods beside those of the BLAS that is there: bench/dense.py.
find_library(MPKI_BENCH_LAPACKE lapacke)
if(MPKI_BENCH_BLAS AND MPKI_BENCH_LAPACKE)
    add_executable(bench_dense_host bench/dense/host.c)
    target_link_libraries(bench_dense_host PRIVATE metapack ${MPKI_BENCH_LAPACKE} ${MPKI_BENCH_BLAS} m)
    set_target_properties(bench_dense_host PROPERTIES OUTPUT_NAME dense-host
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
    # A million systems of small orders: bench/results/systems.md
    add_executable(bench_many_systems EXCLUDE_FROM_ALL bench/many_systems.c)
    target_link_libraries(bench_many_systems PRIVATE metapack ${MPKI_BENCH_LAPACKE} ${MPKI_BENCH_BLAS} m)
    set_target_properties(bench_many_systems PROPERTIES OUTPUT_NAME many-systems
                          RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/bench)
endif()
