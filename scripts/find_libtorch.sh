#!/usr/bin/env bash
# Prints the folder of the TorchConfig.cmake to use: the one that Torch_DIR names, else that of the active Python environment.
# Prints nothing where neither is there: then it is the system's libtorch. cmake/FindLibtorch.cmake and the scripts ask here.
set -euo pipefail

if [[ -n ${Torch_DIR:-} ]]; then
  printf '%s\n' "$Torch_DIR"
  exit
fi

environment=${VIRTUAL_ENV:-${CONDA_PREFIX:-}}
if [[ -z $environment || ! -x $environment/bin/python ]]; then exit; fi
# Found, not imported: importing takes seconds.
"$environment/bin/python" - <<'PYTHON'
import importlib.util
import pathlib

found = importlib.util.find_spec("torch")
if found and found.origin:
    folder = pathlib.Path(found.origin).parent / "share" / "cmake" / "Torch"
    if (folder / "TorchConfig.cmake").exists():
        print(folder)
PYTHON
