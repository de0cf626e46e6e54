# SPDX-License-Identifier: BSD-3-Clause
# pymetapack beside the library, ready to import (PYTHONPATH=build/python), installed in lib/metapack/python, and its
# tests. The wheel is made by plugins/python/setup.py. To make the package takes a Python with cffi: METAPACK_PYTHON, or
# the first found; its tests take NumPy, SciPy and pytest, too.
set(METAPACK_PYTHON "" CACHE FILEPATH "Python with cffi for pymetapack, and numpy, scipy and pytest for its tests; empty: search")

# mpki_python(VARIABLE MODULES): a Python that has them, or nothing
function(mpki_python variable modules)
    set(${variable} "" PARENT_SCOPE)
    foreach(candidate ${METAPACK_PYTHON} python3 /usr/bin/python3)
        execute_process(COMMAND ${candidate} -c "import ${modules}" RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
        if(NOT failed)
            set(${variable} ${candidate} PARENT_SCOPE)
            return()
        endif()
    endforeach()
endfunction()

set(MPKI_PYTHON)
if(METAPACK_TESTS)
    mpki_python(MPKI_PYTHON "cffi, numpy, pytest, scipy.sparse")
endif()
set(MPKI_PYTHON_MAKES ${MPKI_PYTHON})
if(NOT MPKI_PYTHON)
    mpki_python(MPKI_PYTHON_MAKES cffi)
endif()
if(NOT MPKI_PYTHON_MAKES)
    message(STATUS "pymetapack: left out, no Python with cffi (tools/setup)")
    return()
endif()

set(MPKI_PYTHON_SOURCE ${CMAKE_CURRENT_SOURCE_DIR}/plugins/python)
set(MPKI_PYTHON_FOLDER ${CMAKE_CURRENT_BINARY_DIR}/python)
file(GLOB MPKI_PYTHON_FILES CONFIGURE_DEPENDS ${MPKI_PYTHON_SOURCE}/src/pymetapack/*.py
     ${MPKI_PYTHON_SOURCE}/src/pymetapack/py.typed)
file(GLOB MPKI_PUBLIC_HEADERS CONFIGURE_DEPENDS include/metapack/*.h)
add_custom_command(OUTPUT ${MPKI_PYTHON_FOLDER}/stamp
    COMMAND ${CMAKE_COMMAND} -E make_directory ${MPKI_PYTHON_FOLDER}/pymetapack/lib
    COMMAND ${CMAKE_COMMAND} -E copy ${MPKI_PYTHON_FILES} ${MPKI_PYTHON_FOLDER}/pymetapack
    COMMAND ${CMAKE_COMMAND} -E create_symlink $<TARGET_SONAME_FILE:metapack>
            ${MPKI_PYTHON_FOLDER}/pymetapack/lib/$<TARGET_SONAME_FILE_NAME:metapack>
    COMMAND ${MPKI_PYTHON_MAKES} ${MPKI_PYTHON_SOURCE}/headers.py ${CMAKE_CURRENT_SOURCE_DIR}/include/metapack
            ${CMAKE_CURRENT_SOURCE_DIR}/VERSION ${MPKI_PYTHON_FOLDER}/pymetapack
    COMMAND ${CMAKE_COMMAND} -E touch ${MPKI_PYTHON_FOLDER}/stamp
    DEPENDS ${MPKI_PYTHON_FILES} ${MPKI_PUBLIC_HEADERS} ${MPKI_PYTHON_SOURCE}/headers.py VERSION
    COMMENT "pymetapack" VERBATIM)
add_custom_target(pymetapack ALL DEPENDS ${MPKI_PYTHON_FOLDER}/stamp)
add_dependencies(pymetapack metapack)

# Installed it takes the library beside it, wherever the two are moved to.
set(MPKI_PYTHON_DIR ${CMAKE_INSTALL_LIBDIR}/metapack/python)
install(DIRECTORY ${MPKI_PYTHON_FOLDER}/pymetapack DESTINATION ${MPKI_PYTHON_DIR} COMPONENT python
        FILES_MATCHING PATTERN "*.py" PATTERN py.typed PATTERN __pycache__ EXCLUDE PATTERN lib EXCLUDE)
file(RELATIVE_PATH MPKI_PYTHON_TO_LIB /${MPKI_PYTHON_DIR}/pymetapack/lib /${CMAKE_INSTALL_LIBDIR})
set(MPKI_PYTHON_LINK ${CMAKE_CURRENT_BINARY_DIR}/python/installed/libmetapack.so.0)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/python/installed)
file(CREATE_LINK ${MPKI_PYTHON_TO_LIB}/libmetapack.so.0 ${MPKI_PYTHON_LINK} SYMBOLIC)
install(FILES ${MPKI_PYTHON_LINK} DESTINATION ${MPKI_PYTHON_DIR}/pymetapack/lib COMPONENT python)

if(NOT METAPACK_TESTS)
    return()
elseif(NOT MPKI_PYTHON)
    message(STATUS "pymetapack: not tested, no Python with cffi, numpy, pytest and scipy (tools/setup test)")
    return()
endif()
add_test(NAME python COMMAND ${MPKI_PYTHON} -m pytest -q -p no:cacheprovider ${MPKI_PYTHON_SOURCE}/tests)
add_test(NAME python_examples COMMAND ${MPKI_PYTHON} -m pytest -q -p no:cacheprovider --doctest-modules
         --doctest-ignore-import-errors # of the modules for PyTorch and JAX
         ${MPKI_PYTHON_FOLDER}/pymetapack --doctest-glob=*.md ${CMAKE_CURRENT_SOURCE_DIR}/docs/guide)
set(MPKI_PYTHON_HOST_MODULE)
if(TARGET metapack_cuda_host) # arrays in a device's memory, without a device
    add_dependencies(pymetapack metapack_cuda_host)
    set(MPKI_PYTHON_HOST_MODULE ${CMAKE_CURRENT_BINARY_DIR}/cuda/libmetapack_cuda_host.so)
endif()
set_tests_properties(python python_examples PROPERTIES LABELS plugins TIMEOUT 900
    WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}
    ENVIRONMENT "PYTHONPATH=${MPKI_PYTHON_FOLDER};PYTHONDONTWRITEBYTECODE=1;OPENBLAS_NUM_THREADS=1;METAPACK_CUDA_HOST=${MPKI_PYTHON_HOST_MODULE}")
