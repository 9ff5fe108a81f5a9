# How our own sources are compiled: C++20, warnings, sanitizers, ccache.
include(GNUInstallDirs)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Side by side, as where they are installed: `lockstep train` looks for lockstep-train beside itself.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release)
endif()

# What a source includes costs more than what it says (torch's templates 4 s a file, precompiled or not): eight files of src/train
# take 106 s alone and 32 s together.
set(CMAKE_UNITY_BUILD ${LOCKSTEP_UNITY})
set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)

find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # A precompiled header is only cached under these; see ccache's manual, "Precompiled headers". With a base directory what one
  # build folder compiled is had in another, as ./check does with the parts that need no libtorch.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      "${CMAKE_COMMAND};-E;env;CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime;CCACHE_BASEDIR=${PROJECT_SOURCE_DIR};${CCACHE_PROGRAM}")
endif()

# Every target of ours links this for its flags; it is not exported.
add_library(lockstep_flags INTERFACE)
target_compile_options(
  lockstep_flags
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wno-sign-conversion
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wno-missing-field-initializers
            $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict> # gcc 12 reports std::string::insert (its bug 105329)
            $<$<AND:$<CXX_COMPILER_ID:GNU>,$<BOOL:${LOCKSTEP_UNITY}>>:-Wno-subobject-linkage> # it takes them for headers
            $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
if(LOCKSTEP_SANITIZE)
  # For every target, third-party ones too: a sanitizer sees only what was compiled with it.
  add_compile_options(-fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${LOCKSTEP_SANITIZE})
  add_compile_definitions(LOCKSTEP_SANITIZE="${LOCKSTEP_SANITIZE}") # sanitizers_for_tests.h
endif()
