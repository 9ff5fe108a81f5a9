#!/usr/bin/env bash
# fuzz.sh BUILD SECONDS: fuzzes what BUILD holds a fuzzer of, from the corpus in fuzz/corpus, which stays as it is. What is new goes
# to BUILD/corpus, and a text that breaks something to BUILD/findings: to fix it, and then to keep it in fuzz/corpus.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
build=$1
seconds=$2

mkdir -p "$build/corpus/schedule" "$build/findings"
"$build/bin/lockstep_schedule_fuzzer" "$build/corpus/schedule" fuzz/corpus/schedule -dict=fuzz/schedule.dict \
  -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -artifact_prefix="$build/findings/"
