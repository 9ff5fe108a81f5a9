# Shared by ./check, ./quickstart and .ci/run. Sourced from the root of the repository, not run.

if [[ -t 1 ]]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi

say() { printf '%s\n' "$*"; }
heading() { printf '%s== %s%s\n' "$bold" "$*" "$plain"; }
fail() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# The comment at the head of a script, which says how it is used.
usage_of() { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$1"; }

# Compilers that run at once: one a core, but sources with libtorch take up to 2.1 GiB while they compile together.
build_jobs() {
  local cores memory_kib fitting
  cores=$(nproc)
  memory_kib=$(awk '/^MemAvailable:/ {print $2}' /proc/meminfo)
  fitting=$((memory_kib / (2560 * 1024)))
  if ((fitting < 1)); then fitting=1; fi
  echo $((fitting < cores ? fitting : cores))
}

# logged NAME COMMAND...: runs it with its output in build/logs/NAME.log; when it fails, shows the end of that and stops.
logged() {
  local log="build/logs/$1.log"
  shift
  mkdir -p build/logs
  if ! "$@" >"$log" 2>&1; then
    tail -n 40 "$log" >&2
    fail "this failed: $*
All of its output is in $log."
  fi
}

# build NAME FOLDER [TARGET...]: ninja, live on a terminal, in a log elsewhere. A folder that is up to date takes no time.
build() {
  local name=$1 folder=$2
  shift 2
  if [[ -t 1 ]]; then
    ninja -C "$folder" -j "$(build_jobs)" --quiet "$@" || fail "the build in $folder failed; its messages stand above."
  else
    logged "build-$name" ninja -C "$folder" -j "$(build_jobs)" "$@"
  fi
}

# configure NAME FOLDER CMAKE-ARGUMENT...: runs cmake where the folder was not yet configured with just these arguments
# (ninja runs it again by itself when a CMake file changes).
configure() {
  local name=$1 folder=$2
  shift 2
  if [[ -f $folder/build.ninja && -f $folder/configured_with && $(<"$folder/configured_with") == "$*" ]]; then return; fi
  rm -f "$folder/configured_with" "$folder/CMakeCache.txt"
  logged "configure-$name" cmake -S . -B "$folder" -G Ninja "$@"
  printf '%s\n' "$*" >"$folder/configured_with"
}
