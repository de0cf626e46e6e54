# SPDX-License-Identifier: BSD-3-Clause
# plugins/ipopt: libhsl.so, in a folder of its own so that no other library of that name is hidden by it. The
# static library goes in whole: the file works wherever it is put.
file(GLOB MPKI_IPOPT_SOURCES CONFIGURE_DEPENDS plugins/ipopt/*.c)
add_library(metapack_ipopt_objects OBJECT ${MPKI_IPOPT_SOURCES})
target_include_directories(metapack_ipopt_objects PRIVATE include)
add_library(metapack_ipopt SHARED $<TARGET_OBJECTS:metapack_ipopt_objects>)
target_link_libraries(metapack_ipopt PRIVATE metapack_static)
set(MPKI_IPOPT_MAP ${CMAKE_CURRENT_SOURCE_DIR}/plugins/ipopt/libhsl.map)
target_link_options(metapack_ipopt PRIVATE "LINKER:--version-script=${MPKI_IPOPT_MAP}" LINKER:-Bsymbolic
                    LINKER:-z,nodelete LINKER:--as-needed)
if(NOT METAPACK_SANITIZE)
    target_link_options(metapack_ipopt PRIVATE LINKER:--no-undefined LINKER:-z,now)
endif()
set_target_properties(metapack_ipopt PROPERTIES OUTPUT_NAME hsl LINK_DEPENDS ${MPKI_IPOPT_MAP}
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ipopt)
add_custom_command(TARGET metapack_ipopt POST_BUILD
                   COMMAND ${CMAKE_COMMAND} -E create_symlink libhsl.so libmetapack_ipopt.so
                   WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/ipopt)
set(MPKI_IPOPT_DIR ${CMAKE_INSTALL_LIBDIR}/metapack/ipopt)
install(TARGETS metapack_ipopt LIBRARY DESTINATION ${MPKI_IPOPT_DIR} COMPONENT ipopt)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/ipopt/libmetapack_ipopt.so DESTINATION ${MPKI_IPOPT_DIR} COMPONENT ipopt)

if(TARGET metapack_command) # it tells where the library is, wherever the two are moved to
    file(RELATIVE_PATH MPKI_TO_IPOPT /${CMAKE_INSTALL_BINDIR} /${MPKI_IPOPT_DIR})
    target_compile_definitions(metapack_command PRIVATE METAPACK_IPOPT_MADE METAPACK_IPOPT_FROM_BIN="${MPKI_TO_IPOPT}")
    add_dependencies(metapack_command metapack_ipopt)
endif()

# ---- tests: tests/plugins/ipopt/ is to plugins/ipopt/ what tests/ is to src/ ----------------------
foreach(name abi calls system)
    if(TARGET test_plugins_ipopt_${name})
        target_compile_definitions(test_plugins_ipopt_${name} PRIVATE
            METAPACK_IPOPT="$<TARGET_FILE:metapack_ipopt>")
        target_link_libraries(test_plugins_ipopt_${name} PRIVATE ${CMAKE_DL_LIBS})
        add_dependencies(test_plugins_ipopt_${name} metapack_ipopt)
    endif()
endforeach()
foreach(name fortran report system)
    if(TARGET test_plugins_ipopt_${name})
        target_sources(test_plugins_ipopt_${name} PRIVATE $<TARGET_OBJECTS:metapack_ipopt_objects>)
    endif()
endforeach()

# The Ipopt of the distribution (Debian: coinor-libipopt-dev), unmodified.
if(METAPACK_TESTS)
    find_path(MPKI_IPOPT_HEADERS IpStdCInterface.h PATH_SUFFIXES coin-or coin)
    find_library(MPKI_IPOPT_LIBRARY ipopt)
    if(MPKI_IPOPT_HEADERS AND MPKI_IPOPT_LIBRARY)
        add_executable(ipopt_client tests/plugins/ipopt/client.c)
        target_include_directories(ipopt_client PRIVATE ${MPKI_IPOPT_HEADERS})
        target_link_libraries(ipopt_client PRIVATE ${MPKI_IPOPT_LIBRARY} m)
        add_dependencies(ipopt_client metapack_ipopt)
        add_test(NAME plugins_ipopt_client COMMAND ipopt_client $<TARGET_FILE:metapack_ipopt>)
        set_tests_properties(plugins_ipopt_client PROPERTIES LABELS plugins TIMEOUT 300
            # Ipopt 3.11 itself leaks a kilobyte at its end
            ENVIRONMENT "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:metapack_ipopt>;OPENBLAS_NUM_THREADS=1;ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
        # a device that is not there: Ipopt says so, and solves nothing in silence
        add_test(NAME plugins_ipopt_absent_device COMMAND ipopt_client $<TARGET_FILE:metapack_ipopt>)
        set_tests_properties(plugins_ipopt_absent_device PROPERTIES LABELS plugins TIMEOUT 300 WILL_FAIL TRUE
            ENVIRONMENT "LD_LIBRARY_PATH=$<TARGET_FILE_DIR:metapack_ipopt>;OPENBLAS_NUM_THREADS=1;METAPACK_OPTIONS=device=cuda;METAPACK_CUDA_MODULE=/nowhere;ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
    else()
        message(STATUS "Ipopt is not installed (coinor-libipopt-dev): its own tests of libhsl.so are left out")
    endif()
endif()
