#!/usr/bin/env bash
# run_tests.sh FOLDER [CTEST-ARGUMENT...]: runs the tests of a build in parallel; its last lines say how many ran, and how many were
# skipped and why.
# Ends with 1 where one failed, or where one says that it lacks data though the folder of data is there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source scripts/common.sh

folder=$1
shift
log=build/logs/test-$(basename "$folder").log
results=$PWD/$folder/test-results.xml
mkdir -p build/logs
rm -f "$results"

run=(ctest --test-dir "$folder" -j "$(nproc)" --output-log "$log" --output-junit "$results"
  --test-output-size-passed 4194304 --test-output-size-failed 4194304 "$@")
status=0
if [[ -t 1 ]]; then
  "${run[@]}" --progress || status=$?
else
  "${run[@]}" >/dev/null 2>&1 || status=$?
fi
if [[ ! -s $results ]]; then
  tail -n 40 "$log" >&2
  fail "the tests in $folder could not be run; all of ctest's output is in $log."
fi

awk -f scripts/summarize_tests.awk -v log_file="$log" -v data="$([[ -d ${LOCKSTEP_TEST_DATA:-} ]] && echo "$LOCKSTEP_TEST_DATA")" \
  "$results" || status=$?
exit $((status == 0 ? 0 : 1))
