# SPDX-License-Identifier: BSD-3-Clause
# metapack_borg_kernels(OBJECTS ISAS): let borgc make batched kernels of src/kernels/cl at build time, each for one order,
# precision and instruction set, and the tables of them that src/engines/cpu/batch/emitted.h looks into. What it makes goes to
# <build>/borg-kernels; git has none of it. OBJECTS [out]: object libraries, empty where borgc has no backend for this
# processor; ISAS [out]: the instruction sets, in the order of preference.
option(METAPACK_EMITTED_KERNELS "batched kernels made by borgc" ON)
set(METAPACK_EMITTED_ORDERS "" CACHE STRING "of these kernels those of these orders (8;z4: 8 of real ones, 4 of double complex ones); empty: all")

# source:method:pivoting:orders, method and pivoting as in mpk_batch_method and mpk_pivoting; + where the kernel has pivots.
# The orders are those in which it was measured to be faster than the portable kernel (bench/borg.py). Rook pivoting takes the
# kernels of complete pivoting, which are faster: a pivot that is the largest of all that is left is one for rook pivoting, too.
set(MPKI_BORG_FACTORS_avx512
    llt:0:0:4,8,12,16,20,24,28,32
    ldlt:1:0:4,8,12,16,20,24,28,32
    ldu:2:0:4,8,12,16,20,24,28,32
    llt_complete:0:4:4,8:+
    ldlt_partial:1:2:4,8,12,16,20,24,28,32:+
    ldlt_complete:1:4:4,8,12:+
    ldu_partial:2:2:4,8,12,16:+)
set(MPKI_BORG_FACTORS_avx2
    llt:0:0:4,8,12,16,20,24,28,32
    ldlt:1:0:4,8,12,16,20,24,28,32
    ldu:2:0:4,8,12,16,20,24
    ldlt_partial:1:2:4,8:+
    ldlt_complete:1:4:4,8:+
    ldu_partial:2:2:4,8:+)
set(MPKI_BORG_PRODUCTS 4,8,12,16,20,24,28,32)

# Of complex matrices: source:method:pivoting:symmetries:orders; s: symmetric, h: Hermitian, g: neither. L L^H alone is borgc's.
# Beyond these orders most would be faster, too (bench/results/borg-complex.md), but a kernel takes 240 kB at order 12.
set(MPKI_BORG_COMPLEX_avx512
    llt:0:0:h:4,8,12
    ldlt:1:0:s,h:4,8,12
    ldu:2:0:g:4,8,12
    llt_complete:0:4:h:4,8:+
    ldlt_partial:1:2:s,h:4,8:+
    ldlt_complete:1:4:s,h:4,8:+
    ldu_partial:2:2:g:4,8:+
    ldu_complete:2:4:g:4:+)
set(MPKI_BORG_COMPLEX_avx2
    llt:0:0:h:4,8,12
    ldlt:1:0:s,h:4,8,12
    ldu:2:0:g:4,8,12
    ldlt_partial:1:2:s,h:4,8:+
    ldlt_complete:1:4:s,h:4,8:+
    ldu_partial:2:2:g:4,8:+)

# Does it have a matrix in each lane, rows and columns changing places (src/kernels/cl/ldlt_lanes.h)? Above order 12
# Bunch-Kaufman with a row in each lane is faster, and the code of the others long.
function(mpki_borg_interleaved interleaved kernel n)
    set(${interleaved} FALSE PARENT_SCOPE)
    if((kernel MATCHES "^ldlt_(partial|complete)$" AND n LESS_EQUAL 12) OR (kernel STREQUAL ldu_partial AND n LESS_EQUAL 16))
        set(${interleaved} TRUE PARENT_SCOPE)
    endif()
endfunction()

# Is it a kernel of loops over matrices that lie side by side (INTERLEAVED in src/kernels/cl/real.h)? So short a code is as fast
# as 20 times as much where neither a matrix nor the code fits into what is nearest.
function(mpki_borg_loops loops kernel n precision)
    set(${loops} FALSE PARENT_SCOPE)
    if(kernel STREQUAL ldu_partial AND n GREATER_EQUAL 12 AND precision MATCHES "s|d")
        set(${loops} TRUE PARENT_SCOPE)
    endif()
endfunction()

# Work-groups that share a pack, and the lane order. A row in each lane, where a group fills a register; else a matrix.
function(mpki_borg_shape pack order isa kernel n precision)
    set(lanes 8)
    if(isa STREQUAL avx2)
        set(lanes 4)
    endif()
    if(precision MATCHES "s|c")
        math(EXPR lanes "2 * ${lanes}")
    endif()
    set(${order} wi PARENT_SCOPE)
    set(${pack} 1 PARENT_SCOPE)
    mpki_borg_interleaved(interleaved ${kernel} ${n})
    if(interleaved OR precision MATCHES "c|z")
        set(${order} wg PARENT_SCOPE)
        set(${pack} ${lanes} PARENT_SCOPE)
    elseif(kernel STREQUAL gemm_ab OR kernel STREQUAL ldlt_partial)
        return()
    elseif(kernel STREQUAL ldu) # two of 12 and more in double, of 24 in single: as fast in cache, slower from memory
        if(n LESS_EQUAL 8 OR (isa STREQUAL avx512 AND precision STREQUAL s AND n LESS_EQUAL 20))
            set(${pack} 2 PARENT_SCOPE)
        endif()
    elseif(n LESS_EQUAL 20)
        set(${order} wg PARENT_SCOPE)
        set(${pack} ${lanes} PARENT_SCOPE)
    elseif(isa STREQUAL avx512 AND (n LESS_EQUAL 24 OR kernel STREQUAL llt))
        set(${pack} 2 PARENT_SCOPE)
    endif()
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

# One kernel in all its orders: a file for each, and one that is compiled, for they have their head in common.
# Adds to `sources`, `functions_<precision>`, `names_<precision>` of the caller.
function(mpki_borg_kernel backend isa folder kernel orders precision symmetry)
    set(all "/* Written by CMake. */\n")
    set(files)
    set(names)
    string(REPLACE "," ";" orders ${orders})
    if(METAPACK_EMITTED_ORDERS)
        set(wanted ${METAPACK_EMITTED_ORDERS})
        if(precision MATCHES "c|z")
            list(FILTER wanted INCLUDE REGEX "^${precision}")
            list(TRANSFORM wanted REPLACE "^[cz]" "")
        endif()
        list(JOIN wanted "|" wanted)
        list(FILTER orders INCLUDE REGEX "^(${wanted})$")
    endif()
    if(NOT orders)
        set(names PARENT_SCOPE)
        return()
    endif()
    file(GLOB heads CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/cl/*.h)
    foreach(n ${orders})
        set(name mpki_${precision}_borg_${isa}_${kernel}${symmetry}_${n})
        set(single)
        if(precision MATCHES "s|c")
            set(single -D SINGLE)
        endif()
        if(precision MATCHES "c|z")
            list(APPEND single -D COMPLEX)
        endif()
        if(symmetry STREQUAL h)
            list(APPEND single -D HERMITIAN)
        endif()
        mpki_borg_shape(pack order ${isa} ${kernel} ${n} ${precision})
        set(whole)
        if(pack GREATER 1) # what is left over is put into a pack of its own (emitted_table.c.in): code for it would be a sixth to a third
            set(whole --whole-packs)
        endif()
        mpki_borg_loops(loops ${kernel} ${n} ${precision})
        if(loops)
            list(APPEND whole -D INTERLEAVED --set=stride=1)
        endif()
        set(source ${CMAKE_CURRENT_SOURCE_DIR}/src/kernels/cl/${kernel}.cl)
        add_custom_command(OUTPUT ${folder}/${name}.inc
            COMMAND borgc --emit=${backend} --lane-order=${order} -D WG_SIZE=${n} -D WG_PACK=${pack} ${single} ${whole}
                    --name=${name} -o ${folder}/${name}.inc ${source}
            DEPENDS borgc ${source} ${heads}
            COMMENT "borgc ${kernel} ${n} ${precision} ${isa}" VERBATIM)
        list(APPEND files ${folder}/${name}.inc)
        list(APPEND names ${n}:${name})
        string(APPEND all "#include \"${name}.inc\"\n")
    endforeach()
    file(CONFIGURE OUTPUT ${folder}/${kernel}${symmetry}_${precision}.c CONTENT "${all}" @ONLY)
    set_source_files_properties(${folder}/${kernel}${symmetry}_${precision}.c PROPERTIES OBJECT_DEPENDS "${files}")
    set(names ${names} PARENT_SCOPE)
    set(sources ${sources} ${folder}/${kernel}${symmetry}_${precision}.c PARENT_SCOPE)
endfunction()

# One kernel in all its orders, and what the table says of it. Adds to `functions`, `entries` of the caller as well.
function(mpki_borg_factor backend isa folder kernel method pivoting orders precision symmetry kind)
    set(suffix)
    set(places 0)
    if(precision MATCHES "c|z") # [0]: symmetric, [1]: Hermitian
        set(places 0 1)
        if(symmetry MATCHES "s|h")
            set(suffix ${symmetry})
            set(places 0)
        endif()
        if(symmetry STREQUAL h)
            set(places 1)
        endif()
    endif()
    mpki_borg_kernel(${backend} ${isa} ${folder} ${kernel} ${orders} ${precision} "${suffix}")
    foreach(entry ${names})
        string(REPLACE ":" ";" entry ${entry})
        list(GET entry 0 n)
        list(GET entry 1 name)
        set(how ${kind})
        mpki_borg_shape(pack order ${isa} ${kernel} ${n} ${precision})
        set(lists)
        if(pack GREATER 1)
            set(lists ", 1, 1")
            if(kernel MATCHES "^ldu_")
                set(lists ", 2, 0")
            elseif(kernel STREQUAL ldu)
                set(lists ", 0, 0")
            endif()
            if(kind STREQUAL PLAIN)
                set(how PLAIN_PACKED)
            else()
                set(how PACKED)
            endif()
            mpki_borg_loops(loops ${kernel} ${n} ${precision})
            if(loops)
                set(how SIDE_BY_SIDE)
            endif()
        elseif(kernel STREQUAL ldlt_partial AND precision MATCHES "s|d")
            set(how WORKING) # asks for room in memory
        endif()
        string(APPEND functions "${how}(${precision}, ${name}, ${n}, ${pack}${lists})\n")
        foreach(place ${places})
            string(APPEND entries "    [${place}][${method}][${pivoting}][${n}] = call_${name},\n")
            if(kernel MATCHES "^(ldlt|ldu)_complete$") # rook pivoting
                string(APPEND entries "    [${place}][${method}][3][${n}] = call_${name},\n")
            endif()
        endforeach()
    endforeach()
    set(sources ${sources} PARENT_SCOPE)
    set(functions "${functions}" PARENT_SCOPE)
    set(entries "${entries}" PARENT_SCOPE)
endfunction()

# One instruction set: its kernels, and the tables.
function(mpki_borg_isa backend isa)
    set(folder ${CMAKE_CURRENT_BINARY_DIR}/borg-kernels/${isa})
    set(sources)
    set(functions)
    foreach(precision s d c z)
        set(entries)
        set(factors ${MPKI_BORG_FACTORS_${isa}})
        if(precision MATCHES "c|z")
            set(factors ${MPKI_BORG_COMPLEX_${isa}})
        endif()
        foreach(factor ${factors})
            string(REPLACE ":" ";" factor ${factor})
            set(kind PLAIN)
            if(factor MATCHES "[+]$")
                set(kind PIVOTED)
            endif()
            list(POP_FRONT factor kernel method pivoting)
            set(symmetries g)
            if(precision MATCHES "c|z")
                list(POP_FRONT factor symmetries)
                string(REPLACE "," ";" symmetries ${symmetries})
            endif()
            list(GET factor 0 orders)
            foreach(symmetry ${symmetries})
                mpki_borg_factor(${backend} ${isa} ${folder} ${kernel} ${method} ${pivoting} ${orders} ${precision} ${symmetry} ${kind})
            endforeach()
        endforeach()
        set(products)
        set(names)
        if(precision MATCHES "s|d")
            mpki_borg_kernel(${backend} ${isa} ${folder} gemm_ab ${MPKI_BORG_PRODUCTS} ${precision} "")
        endif()
        foreach(entry ${names})
            string(REPLACE ":" ";" entry ${entry})
            list(GET entry 0 n)
            list(GET entry 1 name)
            string(APPEND functions "PRODUCT(${precision}, ${name})\n")
            string(APPEND products "    [${n}] = ${name},\n")
        endforeach()
        string(TOUPPER ${precision} P)
        set(MPKI_BORG_ENTRIES_${P} "${entries}")
        set(MPKI_BORG_PRODUCTS_${P} "${products}")
    endforeach()
    set(MPKI_BORG_ISA ${isa})
    set(MPKI_BORG_FUNCTIONS "${functions}")
    configure_file(${CMAKE_CURRENT_SOURCE_DIR}/src/engines/cpu/batch/emitted_table.c.in ${folder}/table.c @ONLY)
    add_library(metapack_borg_${isa} OBJECT ${sources} ${folder}/table.c)
    target_include_directories(metapack_borg_${isa} PRIVATE src ${folder})
    # straight code of some thousand instructions: -O3 takes longer and makes it slower; sanitizers take minutes
    set(options -O2 -fno-math-errno)
    if(CMAKE_C_COMPILER_ID STREQUAL GNU) # the same code, in a tenth less time: there are few pointers
        list(APPEND options -fno-tree-pta)
    endif()
    if(METAPACK_LIGHT AND NOT isa STREQUAL MPKI_ISA_NATIVE)
        list(APPEND options -O1)
    endif()
    target_compile_options(metapack_borg_${isa} PRIVATE ${options})
    if(METAPACK_SANITIZE)
        target_compile_options(metapack_borg_${isa} PRIVATE -fno-sanitize=all)
    endif()
    target_compile_options(metapack_borg_${isa} PRIVATE ${MPKI_ISA_FLAGS_${isa}})
    metapack_intrinsics(metapack_borg_${isa} ${isa} ${options})
    if(isa STREQUAL avx2)
        target_compile_options(metapack_borg_${isa} PRIVATE -Wno-psabi)
    endif()
endfunction()
