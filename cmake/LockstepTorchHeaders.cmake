# torch/torch.h, compiled once for all targets that include torch (it is most of their compile time).
#
#   lockstep_torch_headers(TARGET)   after the target's sources and options are set
#
# gcc takes a precompiled header only under the flags it was made with, so everything that uses it is compiled as
# position-independent code, executables too.

# PyTorch's wheel has the headers of another fmt beside its own, which are found first; no library here goes with them.
set(torch_includes ${TORCH_INCLUDE_DIRS})
get_target_property(fmt_includes fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
list(REMOVE_ITEM torch_includes ${fmt_includes})
find_file(LOCKSTEP_FMT_OF_TORCH fmt/format.h PATHS ${torch_includes} NO_DEFAULT_PATH)

function(lockstep_torch_headers target)
  # ccache refuses to cache what gcc compiles with a precompiled header without this.
  separate_arguments(pch_options UNIX_COMMAND "${LOCKSTEP_TORCH_FLAGS}")
  list(APPEND pch_options $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess>)
  set(pch lockstep_torch_pch)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
    # What is shipped or timed is optimized as ever. A precompiled header is good for one level of optimization only.
    if(LOCKSTEP_TEST_FLAGS AND NOT target STREQUAL "lockstep-train" AND NOT CMAKE_CURRENT_SOURCE_DIR MATCHES "/bench$")
      separate_arguments(flags UNIX_COMMAND "${LOCKSTEP_TEST_FLAGS}")
      list(APPEND pch_options ${flags})
      set(pch lockstep_torch_pch_of_tests)
    endif()
  endif()
  if(NOT TARGET ${pch})
    set(source "${PROJECT_BINARY_DIR}/${pch}.cpp")
    file(GENERATE OUTPUT "${source}" CONTENT "// Nothing: this target is for its precompiled header.\n")
    add_library(${pch} OBJECT "${source}")
    target_link_libraries(${pch} PRIVATE lockstep_flags torch)
    target_compile_options(${pch} PRIVATE ${pch_options})
    target_precompile_headers(${pch} PRIVATE <torch/torch.h>)
  endif()
  target_compile_options(${target} PRIVATE ${pch_options})
  if(LOCKSTEP_FMT_OF_TORCH)
    target_link_libraries(${target} PRIVATE fmt::fmt-header-only)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
  # What sources have in common of torch's templates takes longer to compile than they do; docs/design/build.md has figures.
  set_target_properties(${target} PROPERTIES UNITY_BUILD_BATCH_SIZE 24)
endfunction()
