# Which libtorch: the one that Torch_DIR names, else the active Python environment's, else the system's.
if(NOT Torch_DIR AND (DEFINED ENV{VIRTUAL_ENV} OR DEFINED ENV{CONDA_PREFIX}))
  execute_process(
    COMMAND python3 -c "import torch; print(torch.utils.cmake_prefix_path)"
    OUTPUT_VARIABLE torch_prefix OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(torch_prefix)
    set(Torch_DIR "${torch_prefix}/Torch" CACHE PATH "The folder of TorchConfig.cmake")
  endif()
endif()
find_package(Torch QUIET)
if(NOT Torch_FOUND)
  message(FATAL_ERROR "libtorch was not found: install libtorch-dev, or activate a Python environment with torch, "
                      "or set Torch_DIR, or build without it (-DLOCKSTEP_TRAIN=OFF).")
endif()
message(STATUS "libtorch ${Torch_VERSION} at ${TORCH_INSTALL_PREFIX}")
