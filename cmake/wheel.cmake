# SPDX-License-Identifier: BSD-3-Clause
# metapack_wheel: the library that Python's wheel carries, <build>/wheel/libmetapack.so.0, built when it is asked for by
# name. Made of the objects of the library itself, but for the two files that see whether there is SCOTCH (CeCILL-C),
# which stays out.
function(metapack_wheel)
    set(MPKI_HAVE_SCOTCH 0)
    string(REPLACE "scotch=1" "scotch=0" MPKI_BUILD_CONFIG "${MPKI_BUILD_CONFIG}")
    configure_file(src/core/config.h.in ${CMAKE_CURRENT_BINARY_DIR}/wheel/config/config.h)
    add_library(metapack_wheel_build OBJECT EXCLUDE_FROM_ALL ${MPKI_BUILD_SOURCES})
    target_include_directories(metapack_wheel_build PRIVATE include src ${CMAKE_CURRENT_BINARY_DIR}/wheel/config
                               ${MPKI_PRIVATE_INCLUDES})
    target_compile_definitions(metapack_wheel_build PRIVATE MPKI_LIBRARY)
    add_library(metapack_wheel SHARED EXCLUDE_FROM_ALL ${MPKI_OBJECT_FILES} $<TARGET_OBJECTS:metapack_wheel_build>)
    set(libraries ${MPKI_PRIVATE_LIBS})
    list(REMOVE_ITEM libraries metapack::scotch)
    target_link_libraries(metapack_wheel PRIVATE ${libraries})
    set(map ${CMAKE_CURRENT_SOURCE_DIR}/cmake/metapack.map)
    target_link_options(metapack_wheel PRIVATE LINKER:--version-script=${map} LINKER:--as-needed
                        LINKER:--disable-new-dtags LINKER:-s)
    set_target_properties(metapack_wheel PROPERTIES OUTPUT_NAME metapack VERSION ${PROJECT_VERSION} SOVERSION 0
        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/wheel LINK_DEPENDS ${map}
        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH $ORIGIN)
endfunction()
metapack_wheel()
