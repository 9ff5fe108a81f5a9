#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS: runs BUILD's fuzzers side by side, SECONDS each, from the corpus in fuzz/corpus, which stays as it is. What is
# new goes to BUILD/corpus, and a text that breaks something to BUILD/findings: to fix it, and then to keep it in fuzz/corpus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
seconds=$2

mkdir -p "$build/findings"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true' EXIT
for name in schedule safetensors; do
  mkdir -p "$build/corpus/$name"
  "$build/bin/lockstep_${name}_fuzzer" "$build/corpus/$name" "fuzz/corpus/$name" "-dict=fuzz/$name.dict" \
    "-max_total_time=$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/findings/" &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=1; done
exit $failed
