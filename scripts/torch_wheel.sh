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
# What tests read our safetensors files, TensorBoard events and trained models with; they say so where it is absent.
if [[ ! -f $environment/asked-for-readers ]]; then
  for readers in "safetensors numpy tensorboard" transformers; do
    # shellcheck disable=SC2086 # words
    (logged wheel-readers "$environment/bin/pip" install --quiet $readers) >&2 || true
  done
  touch "$environment/asked-for-readers"
fi
env -u Torch_DIR VIRTUAL_ENV="$environment" scripts/find_libtorch.sh
