#!/usr/bin/env bash
# pkg_config.sh PC_FOLDER COMPONENT SOURCE PROGRAM COMPILER [FLAG...]: compiles SOURCE by what pkg-config says, and runs it.
set -euo pipefail
export PKG_CONFIG_PATH=$1
component=$2 source=$3 program=$4
shift 4

read -ra cflags <<<"$(pkg-config --cflags "lockstep-$component")"
read -ra libs <<<"$(pkg-config --libs "lockstep-$component")"
"$@" -std=c++17 "${cflags[@]}" "$source" "${libs[@]}" -o "$program"
"$program"
