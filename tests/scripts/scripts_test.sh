#!/usr/bin/env bash
# The scripts under ./check and ./quickstart, with the commands of the system replaced by ones that note how they were called.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
unset LOCKSTEP_INSTALL LOCKSTEP_TORCH Torch_DIR VIRTUAL_ENV CONDA_PREFIX
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# expect WHAT ACTUAL PATTERN: ACTUAL, all of it, is as PATTERN says.
expect() {
  # shellcheck disable=SC2053
  [[ $2 == $3 ]] && return
  printf 'FAILED: %s\n  got:      %s\n  expected: %s\n' "$1" "$2" "$3"
  exit 1
}

# A machine of our own: `command NAME BODY` puts a command on it; nothing else of the system is there but what scripts need.
bin=$scratch/bin
mkdir "$bin"
for tool in bash env dirname basename cat mkdir tail awk grep; do ln -s "$(command -v $tool)" "$bin/$tool"; done
command_on() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$bin/$1" && chmod +x "$bin/$1"; }
on_machine() { (PATH=$bin "$@" 2>&1) || printf 'exit %d\n' $?; }

repository=$scratch/repository
mkdir "$repository"
cp -r scripts "$repository"
install=$repository/scripts/install_packages.sh

expect "without apt it says what to install" "$(on_machine "$install" libtorch)" \
  "install_packages.sh: there is no apt here, *libtorch-dev; then run again with LOCKSTEP_INSTALL=0.*exit 1"
expect "it can be told to install nothing" "$(LOCKSTEP_INSTALL=0 on_machine "$install" libtorch)" ""

command_on apt-get "echo \"apt-get \$*\" >>$scratch/calls"
command_on dpkg-query 'echo installed'
expect "with nothing missing it says nothing" "$(on_machine "$install" build training tests)" ""
expect "with nothing missing apt is not called" "$(ls "$scratch")" $'bin\nrepository'

command_on dpkg-query '[[ ${!#} == libtorch-dev ]] || echo installed'
command_on sudo '"$@"'
expect "what is missing is named with its reason" "$(on_machine "$install" build libtorch)" \
  "*Installing packages*libtorch-dev: tensors and training"
expect "just that is installed, after an update" "$(<"$scratch/calls")" \
  "apt-get -y *update*apt-get -y *install --no-install-recommends libtorch-dev"

command_on apt-get 'echo "E: no network"; exit 100'
expect "a failed apt is shown" "$(on_machine "$install" libtorch)" "*E: no network*this failed: *update*exit 1"

cat >"$scratch/results.xml" <<'XML'
	<testcase name="a.Good" classname="a.Good" time="0.1" status="run">
		<system-out>fine
</system-out>
	</testcase>
	<testcase name="a.Skip" classname="a.Skip" time="0.1" status="notrun">
		<skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
		<system-out>a_test.cpp:3: Skipped
no &lt;text&gt; at LOCKSTEP_TEST_DATA
</system-out>
	</testcase>
XML
summarize() { on_machine awk -f scripts/summarize_tests.awk -v log_file=all.log "$@"; }
expect "skips are counted, with their reason" "$(summarize "$scratch/results.xml")" \
  "Skipped, and why:*no <text> at LOCKSTEP_TEST_DATA*a.Skip*1 passed, 0 failed, 1 skipped"
expect "a skip for lack of data that is there fails" "$(summarize -v data=/data "$scratch/results.xml")" \
  "Skipped for lack of data, though /data is there*a.Skip*1 passed, 0 failed, 1 skipped*exit 1"
sed -i 's/status="run"/status="fail"/' "$scratch/results.xml"
expect "a failure fails, with its output" "$(summarize "$scratch/results.xml")" \
  "---- a.Good failed*fine*Failed:*a.Good*all.log*0 passed, 1 failed, 1 skipped*exit 1"
cat >"$scratch/results.xml" <<'XML'
	<testcase name="b.half_0" classname="b.half_0" time="0.1" status="fail">
		<system-out>[ RUN      ] B.Good
of the good
[       OK ] B.Good (1 ms)
[ RUN      ] B.Skip
b_test.cpp:3: Skipped
no such thing
[  SKIPPED ] B.Skip (0 ms)
[ RUN      ] B.Bad/0
of the bad
[  FAILED  ] B.Bad/0, where GetParam() = 1 (1 ms)
 1 FAILED TEST
</system-out>
	</testcase>
	<testcase name="b.half_1" classname="b.half_1" time="0.1" status="fail">
		<system-out>[ RUN      ] B.Good
[       OK ] B.Good (1 ms)
[ RUN      ] B.Hangs
so far
</system-out>
	</testcase>
XML
expect "of a program's tests each counts, and the one that it died in is named" "$(summarize "$scratch/results.xml")" \
  "---- b.half_0: B.Bad/0 failed*]*of the bad*---- b.half_1: B.Hangs failed*]*so far*Skipped, and why:*no such thing*b.half_0: B.Skip*2 passed, 2 failed, 1 skipped*exit 1"

expect "check refuses training without libtorch" "$(LOCKSTEP_TORCH=none ./check --programs 2>&1 || echo "exit $?")" \
  "check: '--programs' is of training, which LOCKSTEP_TORCH=none leaves out*exit 2"
expect "check refuses what it does not know" "$(./check --fast 2>&1 || echo "exit $?")" "check: '--fast' is not *exit 2"
expect "check refuses another libtorch" "$(LOCKSTEP_TORCH=mine ./check 2>&1 || echo "exit $?")" "check: LOCKSTEP_TORCH is 'mine'*exit 2"
expect "Torch_DIR comes first" "$(Torch_DIR=/mine VIRTUAL_ENV=/yours scripts/find_libtorch.sh)" "/mine"


if ! command -v python3 >/dev/null; then exit; fi
environment=$scratch/environment
mkdir -p "$environment/bin" "$environment/torch/share/cmake/Torch"
touch "$environment/torch/__init__.py"
printf '#!/bin/sh\nPYTHONPATH=%s exec python3 "$@"\n' "$environment" >"$environment/bin/python" && chmod +x "$environment/bin/python"
expect "an environment without TorchConfig is passed over" "$(VIRTUAL_ENV=$environment scripts/find_libtorch.sh)" ""
touch "$environment/torch/share/cmake/Torch/TorchConfig.cmake"
expect "then the active environment" "$(VIRTUAL_ENV=$environment scripts/find_libtorch.sh)" "$environment/torch/share/cmake/Torch"
