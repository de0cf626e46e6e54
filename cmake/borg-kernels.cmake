# SPDX-License-Identifier: BSD-3-Clause
# metapack_borg_kernels(OBJECTS): let borgc make the batched factorizations of src/kernels/cl at build time, each for one
# order, precision and instruction set, and the table of them that src/batch/emitted.h looks into. What it makes goes to
# <build>/borg-kernels; git has none of it. OBJECTS [out]: object libraries, empty where borgc has no backend for this
# processor; MPKI_BORG_ISAS [out]: the instruction sets, in the order of preference.
# off until they are measured against the portable kernels, and tested in the orders below
option(METAPACK_EMITTED_KERNELS "batched kernels made by borgc" OFF)
set(METAPACK_BORG_SIZES "4;8;12;16;20;24;28;32" CACHE STRING "orders that borgc makes kernels for")

# source:method:pivoting, as in mpk_batch_method and mpk_pivoting; + where the kernel has pivots
set(MPKI_BORG_FACTORS llt:0:0 llt_complete:0:4:+ ldlt:1:0 ldlt_static:1:1:+ ldlt_partial:1:2:+ ldlt_rook:1:3:+
    ldlt_complete:1:4:+ ldu:2:0 ldu_static:2:1:+ ldu_partial:2:2:+ ldu_rook:2:3:+ ldu_complete:2:4:+)

# WG_PACK: work-groups that share a register. Without pivoting a lane for each matrix; with pivoting a row in each lane.
function(mpki_borg_pack out kernel n precision)
    set(lanes 8)
    if(precision STREQUAL s)
        set(lanes 16)
    endif()
    set(pack 1)
    if(kernel MATCHES "^(llt|ldlt|ldu)$")
        set(pack ${lanes})
    elseif(n LESS_EQUAL 4)
        set(pack 4)
    elseif(n LESS_EQUAL 8)
        set(pack 2)
    endif()
    set(${out} ${pack} PARENT_SCOPE)
endfunction()

function(metapack_borg_kernels objects isas)
    set(made)
    set(built)
    if(METAPACK_EMITTED_KERNELS AND TARGET borgc AND NOT CMAKE_CROSSCOMPILING AND
            CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        foreach(pair avx512:avx512 c:avx2)
            string(REPLACE ":" ";" pair ${pair})
            list(GET pair 0 backend)
            list(GET pair 1 isa)
            if(IS_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/borg/emit/${backend})
                mpki_borg_isa(${backend} ${isa})
                list(APPEND made metapack_borg_${isa})
                list(APPEND built ${isa})
            endif()
        endforeach()
    endif()
    set(${objects} ${made} PARENT_SCOPE)
    set(${isas} ${built} PARENT_SCOPE)
endfunction()

# One instruction set: a file for each kernel, and the table.
function(mpki_borg_isa backend isa)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/borg-kernels/${isa})
    file(MAKE_DIRECTORY ${folder})
    set(sources)
    set(functions)
    set(entries_s)
    set(entries_d)
    foreach(factor ${MPKI_BORG_FACTORS})
        string(REPLACE ":" ";" factor ${factor})
        list(GET factor 0 kernel)
        list(GET factor 1 method)
        list(GET factor 2 pivoting)
        list(LENGTH factor length)
        set(kind PLAIN)
        if(length EQUAL 4)
            set(kind PIVOTED)
        endif()
        foreach(n ${METAPACK_BORG_SIZES})
            foreach(precision s d)
                set(name mpki_${precision}_borg_${isa}_${kernel}_${n})
                set(single)
                if(precision STREQUAL s)
                    set(single -D SINGLE)
                endif()
                mpki_borg_pack(pack ${kernel} ${n} ${precision})
                set(source ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/cl/${kernel}.cl)
                add_custom_command(OUTPUT ${folder}/${name}.c
                    COMMAND borgc --emit=${backend} -D WG_SIZE=${n} -D WG_PACK=${pack} ${single} --name=${name}
                            -o ${folder}/${name}.c ${source}
                    DEPENDS borgc ${source}
                    COMMENT "borgc ${kernel} ${n} ${precision} ${isa}" VERBATIM)
                list(APPEND sources ${folder}/${name}.c)
                string(APPEND functions "${kind}(${precision}, ${name})\n")
                string(APPEND entries_${precision}
                    "    [${method}][${pivoting}][${n}] = call_${name},\n")
            endforeach()
        endforeach()
    endforeach()
    set(MPKI_BORG_ISA ${isa})
    set(MPKI_BORG_FUNCTIONS "${functions}")
    set(MPKI_BORG_ENTRIES_S "${entries_s}")
    set(MPKI_BORG_ENTRIES_D "${entries_d}")
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/src/batch/emitted_table.c.in ${folder}/table.c @ONLY)
    add_library(metapack_borg_${isa} OBJECT ${sources} ${folder}/table.c)
    target_include_directories(metapack_borg_${isa} PRIVATE src)
    if(isa STREQUAL avx2)
        target_compile_options(metapack_borg_${isa} PRIVATE -mavx2 -mfma)
    else()
        target_compile_options(metapack_borg_${isa} PRIVATE
            -mavx512f -mavx512vl -mavx512dq -mavx512bw -mfma -mprefer-vector-width=512)
    endif()
endfunction()
