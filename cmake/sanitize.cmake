# SPDX-License-Identifier: BSD-3-Clause
# Sanitizers, METAPACK_SANITIZE, and what they look at where. With all checks in all files a build takes twice the time, and
# most of them see the same line of source several times over:
#   - AddressSanitizer everywhere.
#   - UBSan where bytes come from outside (MPKI_SANITIZE_WHOLLY), in double precision, and in complex double for what only
#     complex numbers have. Single precision is the same lines with other lengths, and looked at by AddressSanitizer alone.
#   - null, object-size: nowhere beside AddressSanitizer, which tells of these accesses.
#   - alignment, pointer-overflow, two thirds of UBSan's time: where bytes come from outside; with METAPACK_SANITIZE_ADDRESSES
#     in all that is double precision, too.
#   - the fuzzer's counters where its inputs go: elsewhere they tell it nothing, and slow all other tests down.
# Compiled once, and not where the time of tests goes: not optimized (MPKI_SANITIZE_PLAINLY), in a third of the time.
option(METAPACK_SANITIZE_ADDRESSES "UBSan's alignment and pointer-overflow in all of double precision: twice the time" OFF)
set(MPKI_SANITIZE_WHOLLY "/src/(core|problem|report|batch|kernels)/|/borg/(arena|driver|files|ir_[a-z]*|lex|parse[a-z_]*)[.]c$")
set(MPKI_SANITIZE_FUZZED "/src/(core|problem|report|factor)/|/src/[a-z]*[.]c$|/borg/")
# the interpreter, and loops over numbers and cycles
string(CONCAT MPKI_SANITIZE_UNFUZZED "/borg/(interp|evaluate)[.]c$|/src/core/pool[.]c$|"
    "/src/(problem|factor)/[a-z_]*_t[.]c$|/sim/vector/(issue|lanes|memory|timing)[.]c$")
string(CONCAT MPKI_SANITIZE_PLAINLY "/src/(analysis/((block|schedule|symbolic)/|[a-z_]*[.]c$)|batch/|changes/|dense/|"
    "engines/(accelerator|cuda)/|factor/|isai/|problem/|report/|solve/|systems/|[a-z_]*[.]c$)|/borg/(emit|spatial)/")
string(CONCAT MPKI_SANITIZE_QUICKLY "/src/(report/(png|raster|picture/canvas)|problem/(finite|given)|"
    "analysis/(analysis_check|block/cosine|symbolic/tree))[.]c$")
if(METAPACK_SANITIZE)
    add_compile_options(-fsanitize=${METAPACK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
    add_link_options(-fsanitize=${METAPACK_SANITIZE})
    add_compile_definitions(MPKI_SANITIZED) # kernels/vector.h
endif()
set(MPKI_UNDEFINED FALSE)
set(MPKI_BY_CALLS)
if(METAPACK_SANITIZE MATCHES "undefined")
    set(MPKI_UNDEFINED TRUE)
    if(METAPACK_SANITIZE MATCHES "address")
        add_compile_options(-fno-sanitize=null,object-size)
        # checks of unrolled code as calls: a fifth to a half of the time to compile it
        if(CMAKE_C_COMPILER_ID MATCHES Clang)
            set(MPKI_BY_CALLS "SHELL:-mllvm -asan-instrumentation-with-call-threshold=50")
        endif()
    endif()
endif()

# Files that are compiled once, or once per precision: the library's, borgc's.
function(metapack_sanitize_sources sources)
    foreach(file ${sources})
        if(MPKI_UNDEFINED AND NOT file MATCHES "${MPKI_SANITIZE_WHOLLY}" AND
                NOT (file MATCHES "_t[.]c$" AND METAPACK_SANITIZE_ADDRESSES))
            set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=alignment,pointer-overflow)
        endif()
        if(METAPACK_SANITIZE AND file MATCHES "${MPKI_SANITIZE_PLAINLY}" AND NOT file MATCHES "_t[.]c$" AND
                NOT file MATCHES "${MPKI_SANITIZE_QUICKLY}")
            set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -O0)
        endif()
        if(METAPACK_FUZZ AND (NOT file MATCHES "${MPKI_SANITIZE_FUZZED}" OR file MATCHES "${MPKI_SANITIZE_UNFUZZED}"))
            set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=fuzzer-no-link)
        endif()
    endforeach()
endfunction()

# Files of one precision: 0 s, 1 d, 2 c, 3 z.
function(metapack_sanitize_precision target precision)
    if(NOT MPKI_UNDEFINED)
        return()
    endif()
    if(precision EQUAL 0 OR precision EQUAL 2)
        target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    elseif(precision EQUAL 3)
        target_compile_options(${target} PRIVATE -fno-sanitize=alignment,pointer-overflow)
    endif()
endfunction()

# Kernels of one precision. All instruction sets are the same lines.
function(metapack_sanitize_kernels target precision)
    metapack_sanitize_precision(${target} ${precision})
    if(MPKI_UNDEFINED)
        target_compile_options(${target} PRIVATE ${MPKI_BY_CALLS})
        if(NOT METAPACK_SANITIZE_ADDRESSES)
            target_compile_options(${target} PRIVATE -fno-sanitize=alignment,pointer-overflow)
        endif()
        # unrolled kernels take UBSan's checks a minute a file to compile
        foreach(name multiply block_multiply block_apply_many block_downdate block_solve)
            set_source_files_properties(src/kernels/${name}_k.c PROPERTIES COMPILE_OPTIONS -fno-sanitize=undefined)
        endforeach()
    endif()
    if(METAPACK_FUZZ)
        target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
    endif()
endfunction()

# The library. Calls that check an access to a whole vector look at its shadow at once (tests/sanitize/wide_access.c):
# AddressSanitizer's own took a third of the time of tests of blocks.
function(metapack_sanitize_library)
    if(NOT MPKI_BY_CALLS)
        return()
    endif()
    set(wide ${CMAKE_CURRENT_SOURCE_DIR}/tests/sanitize/wide_access.c)
    set_source_files_properties(${wide} PROPERTIES COMPILE_OPTIONS "-O2;-fno-sanitize=all")
    set(wrapped LINKER:--wrap=__asan_loadN LINKER:--wrap=__asan_storeN)
    target_sources(metapack PRIVATE ${wide})
    target_link_options(metapack PRIVATE ${wrapped})
    target_sources(metapack_static PRIVATE ${wide})
    target_link_options(metapack_static INTERFACE ${wrapped})
endfunction()

# A unit test's own pointers are AddressSanitizer's.
function(metapack_sanitize_test target)
    if(MPKI_UNDEFINED)
        target_compile_options(${target} PRIVATE -fno-sanitize=alignment,pointer-overflow)
    endif()
    if(METAPACK_FUZZ)
        target_compile_options(${target} PRIVATE -fno-sanitize=fuzzer-no-link)
    endif()
endfunction()
