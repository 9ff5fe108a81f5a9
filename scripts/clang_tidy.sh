#!/usr/bin/env bash
# clang_tidy.sh BUILD [FILE...]: the sources of the layers without libtorch, or these, pass .clang-tidy. BUILD is configured.
# Most of its time goes into what sources include, so that all of them are read as BUILD compiles them, several at a time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
shift

if (($# == 0)); then
  mapfile -t files < <(sed -n 's/^ *"file": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" |
    grep -E "^$PWD/($build/)?src/" | grep -vE '_tests[.]dir/|_test[.]cpp$|/src/(train|lab)/' | sort)
  set -- "${files[@]}"
fi
# Warnings that only gcc knows stand in the compile commands.
printf '%s\0' "$@" |
  xargs -0 -n 1 -P "$(nproc)" clang-tidy --quiet -p "$build" --extra-arg=-Wno-unknown-warning-option \
    --checks=-bugprone-suspicious-include 2>&1 |
  sed -E '/^[0-9]+ warnings? (and [0-9]+ errors? )?generated\.$/d'
