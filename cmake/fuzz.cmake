# SPDX-License-Identifier: BSD-3-Clause
# libFuzzer targets: tests/fuzz/fuzz_X.c with its corpus tests/fuzz/corpus/X. Included before the library, which
# must be compiled to tell the fuzzer where it has been.
#   cmake -B build/fuzz -DCMAKE_C_COMPILER=clang-14 -DMETAPACK_FUZZ=ON -DMETAPACK_SANITIZE=address,undefined
#   build/fuzz/fuzz_read -max_total_time=60 new-inputs tests/fuzz/corpus/read
option(METAPACK_FUZZ "build the libFuzzer targets of tests/fuzz (clang)" OFF)
if(METAPACK_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES Clang)
        message(FATAL_ERROR "METAPACK_FUZZ needs clang: -DCMAKE_C_COMPILER=clang-14")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
    file(GLOB MPKI_FUZZERS CONFIGURE_DEPENDS tests/fuzz/fuzz_*.c)
    if(NOT METAPACK_SIM)
        list(FILTER MPKI_FUZZERS EXCLUDE REGEX "/fuzz_(vrptx|machine|warps)\\.c$")
    endif()
    foreach(source ${MPKI_FUZZERS})
        get_filename_component(fuzzer ${source} NAME_WE)
        string(REPLACE fuzz_ "" name ${fuzzer})
        add_executable(${fuzzer} ${source})
        target_include_directories(${fuzzer} PRIVATE tests src ${CMAKE_CURRENT_BINARY_DIR}/config)
        target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
        target_link_libraries(${fuzzer} PRIVATE metapack_static)
        if(name STREQUAL borg)
            target_link_libraries(${fuzzer} PRIVATE borg_static)
        endif()
        set(corpus ${CMAKE_CURRENT_SOURCE_DIR}/tests/fuzz/corpus/${name})
        if(name STREQUAL borg)
            list(APPEND corpus ${CMAKE_CURRENT_SOURCE_DIR}/tests/borg/kernels)
        endif()
        # a short run from a fixed seed; what it finds interesting goes to the build folder
        file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/fuzz/ctest_${name})
        add_test(NAME ${fuzzer}
                 COMMAND ${fuzzer} -runs=4000 -seed=1 -max_len=4096 -timeout=10 -rss_limit_mb=2048
                         -verbosity=0 ${CMAKE_CURRENT_BINARY_DIR}/fuzz/ctest_${name}
                         ${corpus})
        set_tests_properties(${fuzzer} PROPERTIES LABELS fuzz TIMEOUT 300)
    endforeach()
endif()
