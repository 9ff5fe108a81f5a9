#!/usr/bin/env bash
# generate_guide.sh PROGRAM: writes docs/guide/algorithms.md and docs/guide/pictures/algorithms, by the program that the build made
# of docs/guide/generate/algorithms.cpp.
# generate_guide.sh --compare PROGRAM: ends with 1 where what is there is not what would be written now.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

if [[ $1 != --compare ]]; then
  rm -rf docs/guide/pictures/algorithms # an algorithm may be gone
  "$1" docs/guide
  exit
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$2" "$folder"
for part in algorithms.md pictures/algorithms; do
  diff -rq "$folder/$part" "docs/guide/$part" ||
    fail "docs/guide/$part is not what the catalogue says; run scripts/generate_guide.sh $2"
done
