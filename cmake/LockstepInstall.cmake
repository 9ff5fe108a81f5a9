# Install rules, the CMake package (components comm and train) and the pkg-config files.
include(CMakePackageConfigHelpers)

set(package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/lockstep")
set(components comm)
set(programs lockstep)
if(TARGET lockstep_train)
  list(APPEND components train)
endif()
if(TARGET lockstep-train)
  list(APPEND programs lockstep-train)
endif()

# Only the headers that a component here can serve.
file(GLOB public_headers CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/include/lockstep/*.h")
list(TRANSFORM LOCKSTEP_TRAIN_HEADERS REPLACE "(.+)" "${PROJECT_SOURCE_DIR}/include/lockstep/\\1.h" OUTPUT_VARIABLE
                                                                                                 train_headers)
if(NOT TARGET lockstep_train)
  list(REMOVE_ITEM public_headers ${train_headers})
endif()
install(FILES ${public_headers} DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/lockstep")
install(TARGETS ${programs} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")

if(TARGET lockstep_mpi)
  install(TARGETS lockstep_mpi LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endif()

# The package can be moved: the .pc files find their prefix from where they lie.
file(RELATIVE_PATH LOCKSTEP_PC_PREFIX "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")

# pkg-config knows static libraries only by --static, which few people write: what ours need stands with them then.
get_target_property(library_type lockstep_comm TYPE)
function(install_pkgconfig component)
  if(library_type STREQUAL STATIC_LIBRARY)
    get_target_property(binaries lockstep_${component} LOCKSTEP_BINARIES)
    list(TRANSFORM binaries PREPEND "-l")
    list(JOIN binaries " " LOCKSTEP_PC_LIBRARIES)
  endif()
  if(component STREQUAL train)
    list(TRANSFORM TORCH_INCLUDE_DIRS PREPEND "-isystem " OUTPUT_VARIABLE torch_flags)
    list(REMOVE_ITEM torch_flags "-isystem /usr/include") # where compilers look anyway, and in an order that matters
    list(JOIN torch_flags " " LOCKSTEP_PC_TORCH_FLAGS)
  endif()
  set(file "${PROJECT_BINARY_DIR}/lockstep-${component}.pc")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/lockstep-${component}.pc.in" "${file}" @ONLY)
  install(FILES "${file}" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()

foreach(component IN LISTS components)
  install(TARGETS lockstep_${component} EXPORT lockstep-${component}
          ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}" LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  install(EXPORT lockstep-${component} NAMESPACE lockstep:: DESTINATION "${package_dir}")
  install_pkgconfig(${component})
endforeach()

configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/lockstep-config.cmake.in"
                              "${PROJECT_BINARY_DIR}/lockstep-config.cmake" INSTALL_DESTINATION "${package_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/lockstep-config-version.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/lockstep-config.cmake" "${PROJECT_BINARY_DIR}/lockstep-config-version.cmake"
        DESTINATION "${package_dir}")
