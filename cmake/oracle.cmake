# SPDX-License-Identifier: BSD-3-Clause
# Random systems and cases with names, judged in exact or quadruple arithmetic (docs/design/oracle.md). The command is
# build/oracle; CTest runs the cases and a fixed number of systems, few of them under a sanitizer.
set(MPKI_ORACLE_FOLDER ${CMAKE_CURRENT_SOURCE_DIR}/tests/oracle)
set(MPKI_ORACLE_JUDGE)
foreach(name equations exact setup setup_random signs spectrum truth verdict)
    list(APPEND MPKI_ORACLE_JUDGE ${MPKI_ORACLE_FOLDER}/${name}.c)
endforeach()
file(GLOB MPKI_ORACLE CONFIGURE_DEPENDS ${MPKI_ORACLE_FOLDER}/*.c)
list(FILTER MPKI_ORACLE EXCLUDE REGEX "/test_")
add_executable(oracle ${MPKI_ORACLE})
target_link_libraries(oracle PRIVATE metapack_static m)
if(TARGET test_oracle_judge)
    target_sources(test_oracle_judge PRIVATE ${MPKI_ORACLE_JUDGE})
endif()

set(cases 12000) # the same in each run: others come in tools/check-all
if(METAPACK_SANITIZE MATCHES thread) # threads do the same in each precision and family
    set(cases 1000)
elseif(METAPACK_SANITIZE)
    set(cases 3000)
endif()
# what is said of consistency is told and counted: docs/design/oracle.md has how often it is wrong
add_test(NAME oracle_cases COMMAND oracle --named --jobs 2)
add_test(NAME oracle_random COMMAND oracle --cases ${cases} --jobs 2 --patience 120 --except consistency)
set_tests_properties(oracle_cases oracle_random PROPERTIES LABELS oracle TIMEOUT 600 PROCESSORS 2)
