# SPDX-License-Identifier: BSD-3-Clause
# borgc's kernels for the CUDA module, each for one order and precision: what src/engines/cuda/batch/kernels/emitted.cuh takes.
# They lie in <build>/cuda; git has none of them. Other orders, methods and pivotings take the general kernels.
set(METAPACK_CUDA_KERNELS FEW CACHE STRING
    "FEW | ALL | NONE: batched kernels that borgc makes for the CUDA module (nvcc takes 1 to 7 s for each); NONE: none in registers, either")

# kernel:method:pivoting:lists of pivots:orders, numbers as in mpk_batch_method and mpk_pivoting; gemm_ab:product:0:0:orders. 24d: in
# double precision alone.
set(MPKI_CUDA_FEW
    llt:0:0:0:4,8,16,24,32
    ldlt:1:0:0:2,3,4,5,6,7,8,16,24,32
    ldu:2:0:0:4,8,16,24,32
    ldlt_partial:1:2:1:2,3,4,5,6,7,8,9,10,11,12,16,24,32
    ldlt_complete:1:4:1:2,3,4,5,6,7,8,16,24d,32
    ldu_partial:2:2:2:4,8,16,24,32
    gemm_ab:product:0:0:4,8,16,24,32)
set(MPKI_CUDA_ALL
    llt:0:0:0:4,8,12,16,20,24,28,32
    ldlt:1:0:0:2,3,4,5,6,7,8,12,16,20,24,28,32
    ldu:2:0:0:4,8,12,16,20,24,28,32
    ldlt_partial:1:2:1:2,3,4,5,6,7,8,9,10,11,12,16,20,24,28,32
    ldlt_complete:1:4:1:2,3,4,5,6,7,8,12d,16,20d,24d,28,32
    ldu_partial:2:2:2:4,8,12,16,20,24,28,32
    gemm_ab:product:0:0:4,8,12,16,20,24,28,32)

# Rook pivoting takes the kernels of complete pivoting: pivots that are largest in all that is left are largest in their rows and
# columns, too, and these kernels are as fast or faster (bench/results/batch-gpu.md).

# kernel:precision:least order:greatest:work-items:blocks: so many work-items, in as many threads, share the rows of a matrix
# (HAS_ORDER in src/kernels/cl/real.h), where that was faster than a work-item for each row.
set(MPKI_CUDA_SHARED
    ldlt_partial:d:9:16:8:16
    ldlt_partial:d:20:24:32:28
    ldlt_partial:d:25:32:32:24
    ldlt_complete:d:9:16:32:1
    ldlt_complete:d:17:24:32:25
    ldlt_complete:d:25:32:32:20)

# kernel:precisions:work-items:orders N: kernels whose order is a parameter (ANY_ORDER in src/kernels/cl/real.h), for the orders
# N - 7 ... N that have none of their own; work-items as above.
set(MPKI_CUDA_ANY
    ldlt:s,d:0:16,24,32
    ldlt_partial:d:32:16,24,32
    ldlt_partial:s:0:16,24,32
    ldlt_complete:d:32:16,24,32
    ldlt_complete:s:32:16,24
    ldlt_complete:s:0:32)

# What was fastest on an H200 (bench/results/borg.md): work-groups of a pack, threads of a group, blocks that a multiprocessor
# must hold, options; work-items that share the rows, 0: each has one.
function(mpki_cuda_shape kernel n p pack lanes blocks options items)
    set(${pack} 1 PARENT_SCOPE)
    set(${items} 0 PARENT_SCOPE)
    set(${blocks} 1 PARENT_SCOPE)
    set(${options} "" PARENT_SCOPE)
    set(threads 4)
    foreach(power 8 16 32)
        if(n GREATER threads)
            set(threads ${power})
        endif()
    endforeach()
    if(kernel STREQUAL ldlt)
        if(n LESS_EQUAL 8)
            set(${options} --disable=reuse PARENT_SCOPE)
        elseif(n LESS_EQUAL 24)
            set(threads 8)
        else()
            set(threads 16)
        endif()
    elseif(kernel STREQUAL ldlt_partial)
        set(${options} --fast-rcp PARENT_SCOPE)
        if(n GREATER 4 AND n LESS_EQUAL 8)
            set(threads 4)
        elseif(n GREATER 8 AND n LESS_EQUAL 24)
            set(threads 8)
        elseif(n GREATER 24)
            set(threads 16)
        endif()
        if(n GREATER 8 AND n LESS_EQUAL 16) # 128 registers
            set(${blocks} 4 PARENT_SCOPE)
        endif()
    elseif(kernel STREQUAL gemm_ab AND n GREATER 24)
        set(${blocks} 4 PARENT_SCOPE)
    elseif(kernel STREQUAL ldlt_complete)
        set(${options} --fast-rcp PARENT_SCOPE)
        if(n GREATER 4 AND n LESS_EQUAL 8)
            set(threads 4)
        elseif(n GREATER 8)
            set(${blocks} 4 PARENT_SCOPE)
            if(n LESS_EQUAL 16)
                set(threads 8)
            endif()
        endif()
    endif()
    foreach(entry ${MPKI_CUDA_SHARED})
        string(REPLACE ":" ";" entry ${entry})
        list(GET entry 0 name)
        list(GET entry 1 precision)
        list(GET entry 2 least)
        list(GET entry 3 most)
        if(kernel STREQUAL name AND p STREQUAL precision AND NOT n LESS least AND NOT n GREATER most)
            list(GET entry 4 threads)
            list(GET entry 5 at_least)
            set(${items} ${threads} PARENT_SCOPE)
            set(${blocks} ${at_least} PARENT_SCOPE)
        endif()
    endforeach()
    set(${lanes} ${threads} PARENT_SCOPE)
endfunction()

# has [out]: is there a kernel for the orders up to n; items [out]: as in MPKI_CUDA_ANY.
function(mpki_cuda_any kernel p n has items)
    set(${has} FALSE PARENT_SCOPE)
    foreach(entry ${MPKI_CUDA_ANY})
        string(REPLACE ":" ";" entry ${entry})
        list(GET entry 0 name)
        list(GET entry 1 precisions)
        list(GET entry 2 threads)
        list(GET entry 3 orders)
        string(REPLACE "," ";" precisions ${precisions})
        string(REPLACE "," ";" orders ${orders})
        if(kernel STREQUAL name AND p IN_LIST precisions AND n IN_LIST orders)
            set(${has} TRUE PARENT_SCOPE)
            set(${items} ${threads} PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# blocks [out] that a multiprocessor must hold, of a warp's tiles.
function(mpki_cuda_blocks kernel p n blocks)
    set(${blocks} 24 PARENT_SCOPE)
    foreach(entry ${MPKI_CUDA_SHARED})
        if(entry MATCHES "^${kernel}:${p}:[0-9]+:${n}:32:([0-9]+)$" AND CMAKE_MATCH_1 GREATER 1)
            set(${blocks} ${CMAKE_MATCH_1} PARENT_SCOPE)
        endif()
    endforeach()
endfunction()

# Kernels that have one more for matrices that lie one after the other: up to this order a matrix in each thread, a warp's by
# shared memory; beyond it, where work-items share the rows, the same kernel with constants for ld and stride.
set(MPKI_CUDA_PACKED llt ldlt ldlt_partial ldlt_complete ldu ldu_partial)
set(MPKI_CUDA_PACKED_MOST 8)

# kernel:method:pivoting:lists of pivots:precision:orders beyond it with a matrix in each thread, too, of matrices that lie one after
# the other; others take the kernels whose order is a parameter.
set(MPKI_CUDA_LANES
    ldlt_complete:1:4:1:s:9,10,11,12,13,14
    ldlt_complete:1:4:1:d:9)

# One kernel; form: OWN, PACKED, LANES (PACKED with a matrix in each thread), or ANY, which is for several orders. file [out]: to be compiled, depends [out]: what it includes;
# name [out] of its launch.
function(mpki_cuda_kernel place kernel lists n p form file depends name)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/cuda/${place})
    set(id ${kernel}_${n}_${p})
    set(source ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/cl/${kernel}.cl)
    file(GLOB shared CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/cl/*.h)
    mpki_cuda_shape(${kernel} ${n} ${p} pack lanes blocks options items)
    if(form STREQUAL LANES)
        set(form PACKED)
        set(items 0)
    endif()
    set(order_argument)
    if(form STREQUAL ANY)
        string(APPEND id _any)
        mpki_cuda_any(${kernel} ${p} ${n} has items)
        if(items)
            set(lanes ${items})
            mpki_cuda_blocks(${kernel} ${p} ${n} blocks)
        endif()
        set(order_argument ", n")
    endif()
    set(single)
    set(precision 1)
    set(order --lane-order=wi --lanes=${lanes} -D WG_SIZE=${n})
    if(items)
        set(order --lane-order=wi --lanes=${lanes} -D WG_SIZE=${items} -D ORDER=${n})
    endif()
    set(staged)
    if(form STREQUAL ANY)
        list(APPEND order -D ANY_ORDER)
    elseif(form STREQUAL PACKED)
        string(APPEND id _packed)
        math(EXPR square "${n} * ${n}")
        if(NOT items)
            set(lanes 1)
            set(blocks 1)
            list(REMOVE_ITEM options --disable=reuse)
            set(stage a,info)
            if(lists GREATER 0)
                set(stage a,piv,info)
            endif()
            set(order --lane-order=wg -D WG_SIZE=${n} -D IN_LANES --stage=${stage})
            set(staged ", true")
        endif()
        list(APPEND order --set=lda=${n} --set=stride=${square})
    endif()
    if(p STREQUAL s)
        set(single -D SINGLE)
        if(items EQUAL 32) # tiles are of double: the tensor cores have no float
            set(single -D STORED_SINGLE)
        endif()
        set(precision 0)
    endif()
    add_custom_command(OUTPUT ${folder}/${id}.inc
        COMMAND borgc --emit=cuda ${order} -D WG_PACK=${pack} ${single}
                ${options}
                --name=${id} -o ${folder}/${id}.inc ${source}
        DEPENDS borgc ${source} ${shared}
        COMMENT "borgc ${kernel} ${n} ${p} cuda" VERBATIM)
    set(template "emitted::b_lanes, ${pack}, ${lists}, BORG_BLOCKS${staged}")
    if(kernel STREQUAL gemm_ab)
        set(launch launch_emitted_product)
        set(part product_part)
        set(template "emitted::b_lanes, ${pack}, BORG_BLOCKS")
        set(run "T *c, int ldc, long long stride_c, const T *a, int lda, long long stride_a,
        const T *b, int ldb, long long stride_b, long long first, long long last) {
        emitted::${id}(c, ldc, stride_c, (T *)a, lda, stride_a, (T *)b, ldb, stride_b, first, last)")
    else()
        set(launch launch_emitted)
        set(part part)
        set(pivots)
        if(lists GREATER 0)
            set(pivots "piv,")
        endif()
        set(run "T *a, int ld, long long stride, int *piv, int *told, T tolerance, int n, long long first,
        long long last) {
        (void)piv, (void)n;
        emitted::${id}(a, ld, stride, ${pivots} told, tolerance${order_argument}, first, last)")
    endif()
    file(CONFIGURE OUTPUT ${folder}/${id}.cu CONTENT "/* Written by CMake. */
#define MPKI_PRECISION ${precision}
#define BORG_BLOCKS ${blocks}
#include \"${CMAKE_CURRENT_SOURCE_DIR}/src/engines/cuda/batch/kernels/emitted.cuh\"
namespace emitted {
#include \"${folder}/${id}.inc\"
}
namespace { // a body of this file alone
struct body {
    static __device__ __forceinline__ void run(${run};
    }
};
}
mpk_status mpki_cuda_${id}(mpki_cuda *cuda, const mpki::${part} &job, void *stream) {
    return mpki::${launch}<body, emitted::b_threads, ${template}>(cuda, job, stream);
}
" @ONLY)
    set(${file} ${folder}/${id}.cu PARENT_SCOPE)
    set(${depends} ${folder}/${id}.inc PARENT_SCOPE)
    set(${name} mpki_cuda_${id} PARENT_SCOPE)
endfunction()

# Lines of the table, added to [cases], for a launch of [name] for order n; pivoting complete (4): for rook (3), too.
macro(mpki_cuda_case cases method pivoting n name)
    set(served ${pivoting})
    if("${method}:${pivoting}" STREQUAL "1:4")
        list(APPEND served 3)
    endif()
    foreach(one ${served})
        string(APPEND ${cases} "    case MPKI_EMITTED_KEY(${method}, ${one}, ${n}):\n        return ${name};\n")
    endforeach()
endmacro()

# FILES [out]: file|dependency|name of the object, for each kernel and for the table of them; PLACE: their folder.
function(mpki_cuda_kernels set_of files place)
    set(all)
    set(declared)
    set(cases_s)
    set(cases_d)
    set(packed_s)
    set(packed_d)
    set(products_s)
    set(products_d)
    if(TARGET borgc AND NOT CMAKE_CROSSCOMPILING)
        foreach(entry ${set_of})
            string(REPLACE ":" ";" entry ${entry})
            list(GET entry 0 kernel)
            list(GET entry 1 method)
            list(GET entry 2 pivoting)
            list(GET entry 3 lists)
            list(GET entry 4 orders)
            string(REPLACE "," ";" listed ${orders})
            foreach(p s d)
                set(orders ${listed})
                list(FILTER orders INCLUDE REGEX "^[0-9]+${p}?$")
                list(TRANSFORM orders REPLACE "${p}$" "")
                foreach(n ${orders})
                    mpki_cuda_kernel(${place} ${kernel} ${lists} ${n} ${p} OWN file depends name)
                    list(APPEND all "${file}|${depends}|${kernel}_${n}_${p}")
                    set(part part)
                    if(method STREQUAL product)
                        set(part product_part)
                    endif()
                    string(APPEND declared "mpk_status ${name}(mpki_cuda *, const mpki::${part} &, void *);\n")
                    if(method STREQUAL product)
                        string(APPEND products_${p} "    case ${n}:\n        return ${name};\n")
                        continue()
                    endif()
                    mpki_cuda_case(cases_${p} ${method} ${pivoting} ${n} ${name})
                    mpki_cuda_shape(${kernel} ${n} ${p} pack lanes blocks options items)
                    if(NOT kernel IN_LIST MPKI_CUDA_PACKED OR (n GREATER MPKI_CUDA_PACKED_MOST AND NOT items))
                        continue()
                    endif()
                    mpki_cuda_kernel(${place} ${kernel} ${lists} ${n} ${p} PACKED file depends name)
                    list(APPEND all "${file}|${depends}|${kernel}_${n}_${p}_packed")
                    string(APPEND declared "mpk_status ${name}(mpki_cuda *, const mpki::part &, void *);\n")
                    mpki_cuda_case(packed_${p} ${method} ${pivoting} ${n} ${name})
                endforeach()
                foreach(most 16 24 32)
                    mpki_cuda_any(${kernel} ${p} ${most} has items)
                    if(NOT has)
                        continue()
                    endif()
                    mpki_cuda_kernel(${place} ${kernel} ${lists} ${most} ${p} ANY file depends name)
                    list(APPEND all "${file}|${depends}|${kernel}_${most}_${p}_any")
                    string(APPEND declared "mpk_status ${name}(mpki_cuda *, const mpki::part &, void *);\n")
                    math(EXPR least "${most} - 7")
                    foreach(n RANGE ${least} ${most})
                        if(NOT n IN_LIST orders)
                            mpki_cuda_case(cases_${p} ${method} ${pivoting} ${n} ${name})
                        endif()
                    endforeach()
                endforeach()
            endforeach()
        endforeach()
    endif()
    foreach(entry ${MPKI_CUDA_LANES})
        string(REPLACE ":" ";" entry ${entry})
        list(GET entry 0 kernel)
        list(GET entry 1 method)
        list(GET entry 2 pivoting)
        list(GET entry 3 lists)
        list(GET entry 4 p)
        list(GET entry 5 orders)
        string(REPLACE "," ";" orders ${orders})
        if(NOT set_of OR NOT TARGET borgc OR CMAKE_CROSSCOMPILING)
            break()
        endif()
        foreach(n ${orders})
            mpki_cuda_kernel(${place} ${kernel} ${lists} ${n} ${p} LANES file depends name)
            list(APPEND all "${file}|${depends}|${kernel}_${n}_${p}_packed")
            string(APPEND declared "mpk_status ${name}(mpki_cuda *, const mpki::part &, void *);\n")
            mpki_cuda_case(packed_${p} ${method} ${pivoting} ${n} ${name})
        endforeach()
    endforeach()
    set(MPKI_EMITTED_DECLARED "${declared}")
    set(MPKI_EMITTED_S "${cases_s}")
    set(MPKI_EMITTED_D "${cases_d}")
    set(MPKI_EMITTED_PACKED_S "${packed_s}")
    set(MPKI_EMITTED_PACKED_D "${packed_d}")
    set(MPKI_EMITTED_PRODUCT_S "${products_s}")
    set(MPKI_EMITTED_PRODUCT_D "${products_d}")
    set(table ${CMAKE_CURRENT_BINARY_DIR}/cuda/${place}/table.cu)
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/src/engines/cuda/batch/kernels/emitted_table.cu.in ${table} @ONLY)
    list(APPEND all "${table}|${table}|emitted_table")
    set(${files} "${all}" PARENT_SCOPE)
endfunction()

# Blocks of the accelerator interface (src/engines/cuda/accelerator): orders, in all precisions.
set(MPKI_CUDA_BLOCKS 8 16 32)
if(METAPACK_CUDA_KERNELS STREQUAL "NONE")
    set(MPKI_CUDA_BLOCKS)
endif()

# FILES [out]: file|dependency|name of the object, for each order and precision, and for the table of them; PLACE: their folder.
function(mpki_cuda_block_kernels orders files place)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/cuda/${place})
    set(kernels ${CMAKE_CURRENT_SOURCE_DIR}/src/engines/cuda/accelerator/kernels)
    set(all)
    set(declared)
    set(cases)
    set(sizes)
    if(TARGET borgc AND NOT CMAKE_CROSSCOMPILING)
        foreach(n ${orders})
            string(APPEND sizes "${n}, ")
            foreach(precision 0 1 2 3)
                string(SUBSTRING "sdcz" ${precision} 1 p)
                set(id blocks_${n}_${p})
                set(real float)
                if(p MATCHES "[dz]")
                    set(real double)
                endif()
                set(type -D T=${real} -D R=${real})
                if(p MATCHES "[cz]")
                    set(type -D "T=${real} complex" -D R=${real} -D COMPLEX)
                endif()
                add_custom_command(OUTPUT ${folder}/${id}.inc
                    COMMAND borgc --emit=cuda --lane-order=wi --lanes=${n} -D WG_SIZE=${n} ${type} -o ${folder}/${id}.inc
                            ${kernels}/blocks.cl
                    DEPENDS borgc ${kernels}/blocks.cl
                    COMMENT "borgc blocks ${n} ${p} cuda" VERBATIM)
                file(CONFIGURE OUTPUT ${folder}/${id}.cu CONTENT "/* Written by CMake. */
#define MPKI_PRECISION ${precision}
#define MPKI_N ${n}
#include \"${kernels}/emitted.cuh\"
namespace emitted {
#include \"${folder}/${id}.inc\"
}
#include \"${kernels}/launches.cuh\"
mpk_status mpki_cuda_${id}(mpki_cuda *cuda, mpki::block_kernel kernel, const mpki::block_job &job, cudaStream_t stream) {
    return mpki::launch_blocks(cuda, kernel, job, stream);
}
" @ONLY)
                list(APPEND all "${folder}/${id}.cu|${folder}/${id}.inc|${id}")
                string(APPEND declared "mpki::block_launch mpki_cuda_${id};\n")
                string(APPEND cases "    if (n == ${n} && scalar == ${precision}) return mpki_cuda_${id};\n")
            endforeach()
        endforeach()
    endif()
    file(CONFIGURE OUTPUT ${folder}/blocks_table.cu CONTENT "/* Written by CMake. */
#include \"${kernels}/machine.cuh\"
${declared}
mpki::block_launch *mpki::block_launch_of(int n, mpk_scalar scalar) {
${cases}    (void)n, (void)scalar;
    return NULL;
}
const int32_t mpki::block_sizes[] = {${sizes}0};
const unsigned mpki::block_precisions = 1u << MPK_S | 1u << MPK_D | 1u << MPK_C | 1u << MPK_Z;
" @ONLY)
    list(APPEND all "${folder}/blocks_table.cu|${folder}/blocks_table.cu|blocks_table")
    set(${files} "${all}" PARENT_SCOPE)
endfunction()
