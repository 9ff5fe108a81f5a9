# Which libtorch: the one that Torch_DIR names, else the active Python environment's, else the system's.
if(NOT Torch_DIR)
  execute_process(COMMAND "${PROJECT_SOURCE_DIR}/scripts/find_libtorch.sh" OUTPUT_VARIABLE libtorch_given
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(libtorch_given)
    set(Torch_DIR "${libtorch_given}" CACHE PATH "The folder of TorchConfig.cmake" FORCE)
  endif()
endif()
set(libtorch_given "${Torch_DIR}")
if(libtorch_given AND NOT EXISTS "${libtorch_given}/TorchConfig.cmake")
  message(FATAL_ERROR "Torch_DIR is '${libtorch_given}', which holds no TorchConfig.cmake. Give the folder that does, such as "
                      "<libtorch>/share/cmake/Torch.")
endif()

# TorchConfig looks for its own parts (Caffe2, libc10) among the system's first; where both are there it would mix the two.
if(libtorch_given)
  get_filename_component(libtorch_prefix "${libtorch_given}/../../.." ABSOLUTE)
  list(PREPEND CMAKE_LIBRARY_PATH "${libtorch_prefix}/lib")
  set(Caffe2_DIR "${libtorch_given}/../Caffe2")
endif()
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "libtorch was not found: install libtorch-dev, or activate a Python environment with torch, "
                      "or set Torch_DIR, or build without it (-DLOCKSTEP_TRAIN=OFF).")
endif()
get_filename_component(LIBTORCH_LIBRARY_DIR "${TORCH_LIBRARY}" DIRECTORY)
if(TORCH_CXX_FLAGS MATCHES "_GLIBCXX_USE_CXX11_ABI=0")
  message(FATAL_ERROR "The libtorch at ${TORCH_INSTALL_PREFIX} is built for the old C++ ABI, which nothing else here is. "
                      "Use PyTorch's wheel from 2.7 on, or the distribution's libtorch.")
endif()
message(STATUS "libtorch ${Torch_VERSION} at ${TORCH_INSTALL_PREFIX}")
