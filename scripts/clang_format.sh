#!/usr/bin/env bash
# Every C++ file is as clang-format leaves it. Versions format differently: it is Debian 12's, 14, that decides.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

tool=$(command -v clang-format-14 || command -v clang-format)
"$tool" --version | grep -q 'version 14\.' || echo "Mind that clang-format 14 decides, and this is: $("$tool" --version)"
find bench docs examples fuzz include src tests \( -name '*.h' -o -name '*.cpp' \) -print0 | xargs -0 "$tool" --dry-run -Werror
