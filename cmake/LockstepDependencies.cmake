# What we need from outside, found once here.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)

# SIMD and topology are better with these, and there without them: a stub file stands in.
find_package(hwy QUIET)
find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc)
endif()

if(LOCKSTEP_TRAIN)
  include(FindLibtorch)
  include(LockstepTorchHeaders)
endif()
