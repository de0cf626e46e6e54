# SPDX-License-Identifier: BSD-3-Clause
# Debian packages, a component each (tools/deb): names, what they are, what they need. What is linked to is found by
# dpkg-shlibdeps; what is started, imported or included is named here.
set(CPACK_PACKAGE_NAME metapack)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_VENDOR "the METAPACK authors")
set(CPACK_PACKAGE_CONTACT "the METAPACK authors <metapack@localhost>") # dpkg wants an address
set(CPACK_PACKAGE_CHECKSUM SHA256)
set(CPACK_GENERATOR DEB)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_CURRENT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(MPKI_SAME "libmetapack0 (= ${PROJECT_VERSION}-1)")

# mpki_deb(COMPONENT NAME TEXT [DEPENDS ...] [SECTION ...] [RECOMMENDS ...])
macro(mpki_deb component name text)
    cmake_parse_arguments(ARG "" "DEPENDS;SECTION;RECOMMENDS" "" ${ARGN})
    string(TOUPPER ${component} upper)
    list(APPEND CPACK_COMPONENTS_ALL ${component})
    set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name})
    set(CPACK_COMPONENT_${upper}_DESCRIPTION "Symmetric indefinite linear systems: ${text}")
    set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${ARG_DEPENDS}")
    set(CPACK_DEBIAN_${upper}_PACKAGE_RECOMMENDS "${ARG_RECOMMENDS}")
    if(ARG_SECTION)
        set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION})
    endif()
    install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} RENAME copyright COMPONENT ${component} EXCLUDE_FROM_ALL)
endmacro()

set(CPACK_COMPONENTS_ALL)
mpki_deb(runtime libmetapack0 "the library" SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${CMAKE_CURRENT_SOURCE_DIR}/cmake/deb/triggers)
mpki_deb(dev libmetapack-dev "headers, the static library, manual pages, sources for Fortran, Octave, R and Julia" SECTION libdevel
         DEPENDS "${MPKI_SAME}, zlib1g-dev, liblzma-dev, libsuitesparse-dev, libmetis-dev, libscotch-dev"
         RECOMMENDS "pkg-config")
if(TARGET metapack_command)
    mpki_deb(command metapack "the command, its pages and its documentation" DEPENDS "${MPKI_SAME}")
endif()
if(TARGET metapack_ipopt)
    mpki_deb(ipopt metapack-ipopt "ma27, ma57, ma86 and ma97 for Ipopt" RECOMMENDS "metapack")
endif()
foreach(flavour ${MPKI_PETSC_FLAVOURS})
    mpki_deb(petsc_${flavour} metapack-petsc-${flavour} "the plug-in for PETSc (${flavour})" RECOMMENDS "metapack")
endforeach()
if(TARGET pymetapack)
    mpki_deb(python python3-metapack "pymetapack for Python" SECTION python
             DEPENDS "${MPKI_SAME}, python3 (>= 3.9), python3-numpy, python3-scipy, python3-cffi-backend | python3-cffi")
    # Debian's Python looks into one folder: a line there leads to ours
    file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/python/metapack.pth "${CMAKE_INSTALL_PREFIX}/${MPKI_PYTHON_DIR}\n")
    install(FILES ${CMAKE_CURRENT_BINARY_DIR}/python/metapack.pth DESTINATION lib/python3/dist-packages COMPONENT python
            EXCLUDE_FROM_ALL)
endif()
include(CPack)
