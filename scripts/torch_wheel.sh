#!/usr/bin/env bash
# Makes build/torch-wheel, a Python environment of its own with PyTorch's wheel, and prints the folder of its TorchConfig.cmake.
# Ends with 3 where pip cannot have the wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

version=2.13.0
environment=$PWD/build/torch-wheel

if [[ ! -f $environment/has-$version ]]; then
  rm -rf "$environment"
  logged wheel-venv python3 -m venv "$environment"
  if ! (logged wheel-pip "$environment/bin/pip" install --quiet "torch==$version") >&2; then exit 3; fi
  touch "$environment/has-$version"
fi
# What a test of our safetensors files reads them with; it says so where it is absent.
if [[ ! -f $environment/asked-for-safetensors ]]; then
  (logged wheel-safetensors "$environment/bin/pip" install --quiet safetensors numpy) >&2 || true
  touch "$environment/asked-for-safetensors"
fi
env -u Torch_DIR VIRTUAL_ENV="$environment" scripts/find_libtorch.sh
