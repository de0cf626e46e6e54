# SPDX-License-Identifier: BSD-3-Clause
# What other languages need: headers for C++, and sources for Fortran, Octave, R and Julia that are compiled, where they
# are compiled, by whoever has the language. Nothing here asks for one; tests/plugins/languages/run tests each where it is.
file(GLOB MPKI_CPP_HEADERS CONFIGURE_DEPENDS plugins/cpp/metapack/*.hpp)
install(FILES ${MPKI_CPP_HEADERS} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/metapack COMPONENT dev)
install(DIRECTORY plugins/clarabel plugins/fortran plugins/julia plugins/kkt plugins/octave plugins/osqp plugins/piqp
    plugins/qoco plugins/r plugins/scs DESTINATION ${CMAKE_INSTALL_DATADIR}/metapack COMPONENT dev)
install(DIRECTORY plugins/cpp/examples DESTINATION ${CMAKE_INSTALL_DATADIR}/metapack/cpp COMPONENT dev)

if(NOT METAPACK_TESTS OR METAPACK_SANITIZE OR METAPACK_FUZZ)
    return()
endif()
foreach(entry cpp:g++ fortran:gfortran octave:mkoctfile r:R julia:python3)
    string(REPLACE ":" ";" entry ${entry})
    list(GET entry 0 name)
    list(GET entry 1 tool)
    find_program(MPKI_TOOL_${tool} ${tool})
    mark_as_advanced(MPKI_TOOL_${tool})
    if(MPKI_TOOL_${tool})
        add_test(NAME plugins_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/plugins/languages/run ${name} ${CMAKE_CURRENT_BINARY_DIR})
        set_tests_properties(plugins_${name} PROPERTIES LABELS plugins TIMEOUT 600 SKIP_RETURN_CODE 77)
        if(NOT name MATCHES "^(cpp|julia)$") # these take a second; the others are tools/check-clients's, and check-all's
            set_property(TEST plugins_${name} APPEND PROPERTY LABELS long)
        endif()
    endif()
endforeach()
