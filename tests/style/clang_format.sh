#!/usr/bin/env bash
# Every C++ file is as clang-format leaves it. Other versions format otherwise, so only Debian 12's is asked.
set -euo pipefail

if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
  echo "Skipped: there is no clang-format 14 here, and others format otherwise"
  exit 77
fi
find include src tests \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 clang-format --dry-run -Werror
