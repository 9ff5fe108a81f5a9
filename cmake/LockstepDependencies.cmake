# What we need from outside, found once here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# Its package would link a shared library; the headers alone do.
find_path(LOCKSTEP_TOML_INCLUDE_DIR toml++/toml.h REQUIRED)
add_library(lockstep_toml INTERFACE)
target_include_directories(lockstep_toml SYSTEM INTERFACE "${LOCKSTEP_TOML_INCLUDE_DIR}")

# SIMD and topology are better with these, and there without them: a stub file stands in. So it does for what proves over TCP
# who somebody is.
find_package(hwy QUIET)
find_package(OpenSSL QUIET COMPONENTS Crypto)
# For liblockstep-mpi.so alone; nothing else of ours is linked with it.
find_package(MPI QUIET COMPONENTS CXX)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
endif()

# Those that are more than headers, and what a linker calls them where ours is installed.
set_target_properties(fmt::fmt PROPERTIES LOCKSTEP_INSTALLED_AS fmt) # its headers alone cost 3 s more a source
if(TARGET hwy::hwy)
  set_target_properties(hwy::hwy PROPERTIES LOCKSTEP_INSTALLED_AS hwy)
endif()
if(TARGET OpenSSL::Crypto)
  set_target_properties(OpenSSL::Crypto PROPERTIES LOCKSTEP_INSTALLED_AS crypto)
endif()
if(TARGET PkgConfig::HWLOC)
  set_target_properties(PkgConfig::HWLOC PROPERTIES LOCKSTEP_INSTALLED_AS hwloc)
endif()

if(LOCKSTEP_TRAIN)
  include(FindLibtorch)
  find_package(ICU REQUIRED COMPONENTS uc)
  find_package(ZLIB REQUIRED)
  set_target_properties(ZLIB::ZLIB PROPERTIES LOCKSTEP_INSTALLED_AS z)
  include(LockstepTorchHeaders)
endif()
