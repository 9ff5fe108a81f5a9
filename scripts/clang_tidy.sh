#!/usr/bin/env bash
# clang_tidy.sh BUILD [FILE...]: the sources of the layers without libtorch, or these, pass .clang-tidy. BUILD is configured.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift

if (($# == 0)); then
  mapfile -t files < <(find src -name '*.cpp' ! -name '*_test.cpp' ! -path 'src/train/*' ! -path 'src/lab/*')
  set -- "${files[@]}"
fi
# Warnings that only gcc knows stand in the compile commands.
printf '%s\0' "$@" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option 2>&1 |
  sed -E '/^[0-9]+ warnings? (and [0-9]+ errors? )?generated\.$/d'
