# SPDX-License-Identifier: BSD-3-Clause
# Used twice: by METAPACK's own build, and, installed beside the package files, by programs that link the
# static library. It makes imported targets of libraries that bring no CMake package on Debian.

# metapack_find(amd HEADER amd.h SUBDIRS suitesparse LIBRARIES amd OPTIONAL suitesparseconfig)
# -> target metapack::amd with the include folder and the libraries; metapack_amd_FOUND
function(metapack_find name)
    cmake_parse_arguments(ARG "" "HEADER" "SUBDIRS;LIBRARIES;OPTIONAL" ${ARGN})
    set(found TRUE)
    set(files)
    find_path(METAPACK_${name}_INCLUDE_DIR ${ARG_HEADER} PATH_SUFFIXES ${ARG_SUBDIRS})
    mark_as_advanced(METAPACK_${name}_INCLUDE_DIR)
    if(NOT METAPACK_${name}_INCLUDE_DIR)
        set(found FALSE)
    endif()
    foreach(library ${ARG_LIBRARIES} ${ARG_OPTIONAL})
        find_library(METAPACK_${library}_LIBRARY ${library})
        mark_as_advanced(METAPACK_${library}_LIBRARY)
        if(METAPACK_${library}_LIBRARY)
            list(APPEND files ${METAPACK_${library}_LIBRARY})
        elseif(library IN_LIST ARG_LIBRARIES)
            set(found FALSE)
        endif()
    endforeach()
    set(metapack_${name}_FOUND ${found} PARENT_SCOPE)
    if(found AND NOT TARGET metapack::${name})
        add_library(metapack::${name} INTERFACE IMPORTED)
        set_target_properties(metapack::${name} PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES "${METAPACK_${name}_INCLUDE_DIR}"
            INTERFACE_LINK_LIBRARIES "${files}")
    endif()
endfunction()

macro(metapack_find_amd)
    metapack_find(amd HEADER amd.h SUBDIRS suitesparse LIBRARIES amd OPTIONAL suitesparseconfig)
endmacro()
macro(metapack_find_metis)
    metapack_find(metis HEADER metis.h LIBRARIES metis)
endmacro()
macro(metapack_find_scotch)
    metapack_find(scotch HEADER scotch.h SUBDIRS scotch LIBRARIES scotch scotcherr)
endmacro()
