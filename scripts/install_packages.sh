#!/usr/bin/env bash
# install_packages.sh SET...: installs with apt-get what of these sets is missing, and says why; asks nothing. With nothing
# missing it does nothing. LOCKSTEP_INSTALL=0: never installs (where the parts come from elsewhere).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

declare -A packages=(
  [build]="g++ cmake ninja-build pkg-config ccache libhwloc-dev libhwy-dev libssl-dev nlohmann-json3-dev libtomlplusplus-dev libcli11-dev libfmt-dev"
  [libtorch]="libtorch-dev"
  [training]="libopenblas0-pthread libicu-dev zlib1g-dev"
  [tests]="libgtest-dev libgmock-dev clang-format clang-tidy openmpi-bin libopenmpi-dev chromium fonts-dejavu-core tmux iproute2"
  [wheel]="python3-venv"
  [clang]="clang libclang-rt-dev"
  [compare]="openmpi-bin libopenmpi-dev libgloo-dev iproute2"
)
declare -A reasons=(
  [build]="to compile Lockstep"
  [libtorch]="tensors and training"
  [training]="fast matrix products (without OpenBLAS, libtorch multiplies at about 8 GFLOP/s a core instead of 200), Unicode, and checksums of checkpoints"
  [tests]="for the tests: frameworks, style, MPI, a browser and a terminal to look at what is shown"
  [clang]="for libFuzzer, which gcc has not, and for AddressSanitizer, with which it compiles sooner"
  [wheel]="for the environment that PyTorch's wheel goes into"
  [compare]="what Lockstep is measured beside, and to shape a line"
)

is_installed() { [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

if [[ ${LOCKSTEP_INSTALL:-1} == 0 ]]; then exit; fi
if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  wanted=""
  for set in "$@"; do wanted+=" ${packages[$set]}"; done
  fail "there is no apt here, so please install what Debian calls:$wanted; then run again with LOCKSTEP_INSTALL=0."
fi

missing=()
notes=()
for set in "$@"; do
  lacking=()
  for package in ${packages[$set]}; do
    if ! is_installed "$package"; then lacking+=("$package"); fi
  done
  if ((${#lacking[@]})); then
    missing+=("${lacking[@]}")
    notes+=("  ${lacking[*]}: ${reasons[$set]}")
  fi
done
if ((${#missing[@]} == 0)); then exit; fi

command=(env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3)
if ((EUID != 0)); then
  command -v sudo >/dev/null ||
    fail "packages are missing, and there is no sudo; please run as root: apt-get install --no-install-recommends ${missing[*]}"
  command=(sudo "${command[@]}")
fi

heading "Installing packages"
printf '%s\n' "${notes[@]}"
logged apt-update "${command[@]}" update
logged apt-install "${command[@]}" install --no-install-recommends "${missing[@]}"
