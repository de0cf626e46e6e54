# SPDX-License-Identifier: BSD-3-Clause
# What surrounds the library: exported symbols, installation, package files, whole-program tests.
include(CMakePackageConfigHelpers)

# ---- the shared library exports mpk_* and nothing else -------------------------------------------
if(UNIX AND NOT APPLE)
    set(MPKI_MAP ${CMAKE_CURRENT_SOURCE_DIR}/cmake/metapack.map)
    target_link_options(metapack PRIVATE "LINKER:--version-script=${MPKI_MAP}" LINKER:--as-needed)
    set_target_properties(metapack PROPERTIES LINK_DEPENDS ${MPKI_MAP})
    if(NOT METAPACK_SANITIZE)
        target_link_options(metapack PRIVATE LINKER:--no-undefined)
    endif()
endif()

# ---- installation --------------------------------------------------------------------------------
set(MPKI_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/metapack)
set_target_properties(metapack_static PROPERTIES EXPORT_NAME static)
add_library(metapack::metapack ALIAS metapack)
add_library(metapack::static ALIAS metapack_static)
install(TARGETS metapack EXPORT metapack-targets LIBRARY COMPONENT runtime NAMELINK_COMPONENT dev)
install(TARGETS metapack_static EXPORT metapack-static-targets ARCHIVE COMPONENT dev)
install(EXPORT metapack-targets NAMESPACE metapack:: DESTINATION ${MPKI_CMAKE_DIR} COMPONENT dev)
install(EXPORT metapack-static-targets NAMESPACE metapack:: DESTINATION ${MPKI_CMAKE_DIR} COMPONENT dev)
install(DIRECTORY include/metapack DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev FILES_MATCHING PATTERN "*.h")
if(TARGET metapack_command)
    # The command finds the library beside it, wherever the two are moved to.
    file(RELATIVE_PATH MPKI_TO_LIB /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(metapack_command PROPERTIES INSTALL_RPATH "$ORIGIN/${MPKI_TO_LIB}")
    install(TARGETS metapack_command RUNTIME COMPONENT command)
    # So it finds the pages that `metapack help` shows; before it is installed, in the tree.
    file(RELATIVE_PATH MPKI_TO_MAN /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_MANDIR})
    file(RELATIVE_PATH MPKI_TO_DOC /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_DOCDIR})
    set_source_files_properties(cli/topics.c PROPERTIES COMPILE_DEFINITIONS
        "METAPACK_MAN_FROM_BIN=\"${MPKI_TO_MAN}\";METAPACK_DOC_FROM_BIN=\"${MPKI_TO_DOC}\"")
    file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/pages)
    foreach(folder man docs)
        file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR}/${folder} ${CMAKE_CURRENT_BINARY_DIR}/pages/${folder} SYMBOLIC)
    endforeach()
endif()

configure_package_config_file(cmake/metapack-config.cmake.in metapack-config.cmake
    INSTALL_DESTINATION ${MPKI_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(metapack-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/metapack-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/metapack-config-version.cmake
              cmake/metapack-libraries.cmake
        DESTINATION ${MPKI_CMAKE_DIR} COMPONENT dev)

file(RELATIVE_PATH MPKI_PC_PREFIX /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" MPKI_PC_PREFIX "${MPKI_PC_PREFIX}")
set(MPKI_PC_PRIVATE -lamd)
if(MPKI_HAVE_CAMD)
    string(APPEND MPKI_PC_PRIVATE " -lcamd")
endif()
if(METAPACK_suitesparseconfig_LIBRARY)
    string(APPEND MPKI_PC_PRIVATE " -lsuitesparseconfig")
endif()
if(METAPACK_METIS)
    string(APPEND MPKI_PC_PRIVATE " -lmetis")
endif()
if(METAPACK_SCOTCH)
    string(APPEND MPKI_PC_PRIVATE " -lscotch -lscotcherr")
endif()
configure_file(cmake/metapack.pc.in metapack.pc @ONLY)
configure_file(cmake/metapack-uninstalled.pc.in metapack-uninstalled.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/metapack.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)

file(GLOB MPKI_MAN1 CONFIGURE_DEPENDS man/*.1)
file(GLOB MPKI_MAN3 CONFIGURE_DEPENDS man/*.3)
install(FILES ${MPKI_MAN1} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT command)
install(FILES ${MPKI_MAN3} DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT dev)
install(FILES completions/metapack.bash
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME metapack COMPONENT command)
install(FILES completions/metapack.zsh
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions RENAME _metapack COMPONENT command)
install(FILES completions/metapack.fish
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT command)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT command FILES_MATCHING PATTERN "*.md")

# ---- examples are tests --------------------------------------------------------------------------
set(MPKI_TEST_EXAMPLES ${METAPACK_TESTS})
if(METAPACK_TEST_ROOMS AND NOT "examples" MATCHES "^(${METAPACK_TEST_ROOMS})$")
    set(MPKI_TEST_EXAMPLES OFF)
endif()
file(GLOB MPKI_EXAMPLES CONFIGURE_DEPENDS examples/*.c)
set(MPKI_EXAMPLE_systems 100) # programs: what it is called with as a test
foreach(source ${MPKI_EXAMPLES})
    get_filename_component(name ${source} NAME_WE)
    if(MPKI_TEST_EXAMPLES AND NOT TARGET example_${name})
        add_executable(example_${name} ${source})
        target_link_libraries(example_${name} PRIVATE metapack m)
        add_test(NAME example_${name} COMMAND example_${name} ${MPKI_EXAMPLE_${name}}
                 WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(example_${name} PROPERTIES LABELS examples TIMEOUT 300)
    endif()
endforeach()

if(TARGET example_device) # a device that is not there is an error with its reason
    add_test(NAME example_device_absent COMMAND example_device --device cuda)
    set_tests_properties(example_device_absent PROPERTIES LABELS examples TIMEOUT 60
        ENVIRONMENT "METAPACK_CUDA_MODULE=/nowhere/module.so" PASS_REGULAR_EXPRESSION "^device: .*CUDA")
    if(TARGET metapack_cuda_host) # and there, without one
        add_dependencies(example_device metapack_cuda_host)
        add_test(NAME example_device_host COMMAND example_device --device cuda)
        set_tests_properties(example_device_host PROPERTIES LABELS examples TIMEOUT 120
            ENVIRONMENT "METAPACK_CUDA_MODULE=${CMAKE_CURRENT_BINARY_DIR}/cuda/libmetapack_cuda_host.so"
            PASS_REGULAR_EXPRESSION "cuda: host\n.*inertia 2592[+] 1728-")
    endif()
endif()

# boundary elements: more than a file; the triangles' sines and cosines in vectors
if(MPKI_TEST_EXAMPLES)
    file(GLOB MPKI_ACOUSTICS CONFIGURE_DEPENDS examples/acoustics/*.c)
    add_executable(example_acoustics ${MPKI_ACOUSTICS})
    set_source_files_properties(examples/acoustics/boundary.c PROPERTIES COMPILE_OPTIONS -ffast-math)
    target_compile_definitions(example_acoustics PRIVATE ACOUSTICS_LAPACK)
    target_link_libraries(example_acoustics PRIVATE metapack ${OPENBLAS_LIBRARY} ZLIB::ZLIB m)
    set(methods none tile bunch-kaufman)
    if(METAPACK_SANITIZE) # the program; its methods have tests of their own
        set(methods tile)
    endif()
    foreach(method ${methods})
        add_test(NAME example_acoustics_${method} COMMAND example_acoustics sphere 500 2 ${method}
                 ${CMAKE_CURRENT_BINARY_DIR}/acoustics_${method}.png)
        set_tests_properties(example_acoustics_${method} PROPERTIES LABELS examples TIMEOUT 300
                             ENVIRONMENT "OPENBLAS_NUM_THREADS=1")
    endforeach()
    add_test(NAME example_acoustics_saves COMMAND example_acoustics engine 400 2 off - acoustics_a.npy acoustics_b.npy)
    set_tests_properties(example_acoustics_saves PROPERTIES LABELS examples FIXTURES_SETUP acoustics_saved)
    add_test(NAME example_acoustics_saved COMMAND $<TARGET_FILE:metapack_command> solve acoustics_a.npy --rhs acoustics_b.npy
             --dense tile --json)
    set_tests_properties(example_acoustics_saved PROPERTIES LABELS examples FIXTURES_REQUIRED acoustics_saved
                         PASS_REGULAR_EXPRESSION "\"n\": 400")
    add_test(NAME example_acoustics_usage COMMAND example_acoustics cube)
    set_tests_properties(example_acoustics_usage PROPERTIES LABELS examples WILL_FAIL TRUE)
endif()

# quadratic programs: a program, the linear systems, the method
if(MPKI_TEST_EXAMPLES)
    file(GLOB MPKI_QUADRATIC CONFIGURE_DEPENDS examples/quadratic/*.c)
    add_executable(example_quadratic ${MPKI_QUADRATIC})
    target_link_libraries(example_quadratic PRIVATE metapack m)
    add_test(NAME example_quadratic COMMAND example_quadratic)
    set_tests_properties(example_quadratic PROPERTIES LABELS examples TIMEOUT 120)
    add_test(NAME example_quadratic_linear COMMAND example_quadratic --seeds 2 "linear 200 80" "degenerate 200 80")
    add_test(NAME example_quadratic_systems COMMAND example_quadratic --only systems --seeds 1 "linear 60 25")
    set_tests_properties(example_quadratic_linear example_quadratic_systems PROPERTIES LABELS examples TIMEOUT 60)
    set_tests_properties(example_quadratic_systems PROPERTIES PASS_REGULAR_EXPRESSION "inertia 60 25 and 25 0.*solved in")
    # memory for K_0 but not for K_U: that is told at each step, the others are measured, the exit code is that of memory
    add_test(NAME example_quadratic_kept COMMAND sh -c "\"$0\" --only systems --seeds 1 --threads 1 --memory-limit 750000 'linear 60 25'; echo exit $?"
             $<TARGET_FILE:example_quadratic>)
    set_tests_properties(example_quadratic_kept PROPERTIES LABELS examples TIMEOUT 60
        PASS_REGULAR_EXPRESSION "K_U failed: memory: .*K_0 condition.*inertia 60 25 and 25 0.*solved in.*exit 6")
    foreach(wrong "nothing 3 3" "random 2 3" "--delta;0" "--device;moon" "--only;systems;random 30 12")
        string(MAKE_C_IDENTIFIER "${wrong}" name)
        add_test(NAME example_quadratic_${name} COMMAND example_quadratic ${wrong})
        set_tests_properties(example_quadratic_${name} PROPERTIES LABELS examples
                             PASS_REGULAR_EXPRESSION "^quadratic: ")
    endforeach()
    if(TARGET metapack_cuda_host) # values and vectors in device memory, without a device
        add_dependencies(example_quadratic metapack_cuda_host)
        add_test(NAME example_quadratic_device COMMAND example_quadratic --device cuda --seeds 1 "random 30 12"
                 "dependent 20 8" "infeasible 20 8")
        set_tests_properties(example_quadratic_device PROPERTIES LABELS examples TIMEOUT 120
            ENVIRONMENT "METAPACK_CUDA_MODULE=${CMAKE_CURRENT_BINARY_DIR}/cuda/libmetapack_cuda_host.so"
            PASS_REGULAR_EXPRESSION "cuda: ")
    endif()
endif()

# ---- tests of the whole --------------------------------------------------------------------------
if(METAPACK_TESTS)
    if(NOT METAPACK_SANITIZE)
        add_test(NAME symbols COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/symbols
                 $<TARGET_FILE:metapack>)
        add_test(NAME install_abi COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/abi $<TARGET_FILE:metapack> ${CMAKE_C_COMPILER})
        set_tests_properties(install_abi PROPERTIES LABELS install TIMEOUT 300 SKIP_RETURN_CODE 77) # 77: no cffi
        add_test(NAME install COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/run
                 ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_C_COMPILER})
        add_test(NAME install_tools COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/tools)
        foreach(name release commits) # 77: there is no git
            add_test(NAME install_${name} COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/${name})
            set_tests_properties(install_${name} PROPERTIES LABELS install TIMEOUT 300 SKIP_RETURN_CODE 77)
        endforeach()
        set_tests_properties(symbols install install_tools PROPERTIES LABELS install TIMEOUT 300)
    endif()
    find_program(PYTHON3 python3)
    if(PYTHON3 AND TARGET metapack_command AND NOT METAPACK_SANITIZE AND NOT METAPACK_FUZZ)
        add_test(NAME guide COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/guide/run.py
                 --command $<TARGET_FILE:metapack_command>)
        add_test(NAME guide_plot COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/bench/beside.py --check)
        add_test(NAME never_slower COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/bench/threads.py --check)
        set_tests_properties(guide guide_plot never_slower PROPERTIES LABELS pipeline TIMEOUT 300)
        add_test(NAME install_recipes COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/recipes)
        set_tests_properties(install_recipes PROPERTIES LABELS install TIMEOUT 60)
        add_test(NAME one_build COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/install/one_build.py
                 ${CMAKE_CURRENT_BINARY_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
        set_tests_properties(one_build PROPERTIES LABELS install TIMEOUT 60)
    endif()
    add_executable(judge tests/matrices/judge.c)
    target_link_libraries(judge PRIVATE m)
    add_executable(nullity tests/matrices/nullity.c)
    target_link_libraries(nullity PRIVATE m)
    add_executable(trees tests/matrices/trees.c)
    target_link_libraries(trees PRIVATE metapack m)
    if(PYTHON3 AND TARGET metapack_command)
        set(threads 1,3,4,8,16)
        if(METAPACK_SANITIZE) # the bits are compared where nothing is slowed down; here one more number shows races
            set(threads 3 --every 3)
        endif()
        add_test(NAME data COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/matrices/run.py
                 --command $<TARGET_FILE:metapack_command> --judge $<TARGET_FILE:judge> --bits ${threads}
                 --nullity $<TARGET_FILE:nullity> ${CMAKE_CURRENT_SOURCE_DIR}/data)
        set_tests_properties(data PROPERTIES LABELS pipeline TIMEOUT 600)
        if(TARGET metapack_cuda_host)
            add_test(NAME data_device COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/matrices/run.py
                     --command $<TARGET_FILE:metapack_command> --judge $<TARGET_FILE:judge> --trees $<TARGET_FILE:trees>
                     --beside cuda --only "*kkt/*" ${CMAKE_CURRENT_SOURCE_DIR}/data)
            set_tests_properties(data_device PROPERTIES LABELS engines TIMEOUT 120
                ENVIRONMENT "METAPACK_CUDA_MODULE=${CMAKE_CURRENT_BINARY_DIR}/cuda/libmetapack_cuda_host.so")
        endif()
        set(folder "$ENV{METAPACK_MATRICES}")
        if(NOT folder)
            set(folder ${CMAKE_CURRENT_SOURCE_DIR}/../shared/matrices)
        endif()
        if(EXISTS ${folder}/CATALOG.md)
            add_test(NAME matrices COMMAND ${PYTHON3} ${CMAKE_CURRENT_SOURCE_DIR}/tests/matrices/run.py
                     --command $<TARGET_FILE:metapack_command> --judge $<TARGET_FILE:judge>
                     --nullity $<TARGET_FILE:nullity> --jobs 2 ${folder})
            set_tests_properties(matrices PROPERTIES LABELS matrices TIMEOUT 900 RUN_SERIAL ON)
        endif()
    endif()
endif()

if(NOT METAPACK_SANITIZE)
    include(${CMAKE_CURRENT_LIST_DIR}/python.cmake)
endif()

if(METAPACK_BENCH)
    include(${CMAKE_CURRENT_LIST_DIR}/bench.cmake)
    include(${CMAKE_CURRENT_LIST_DIR}/bench-borg.cmake)
endif()
