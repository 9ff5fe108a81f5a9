# Reads what `ctest --output-junit` wrote. Shows each failed test's output, the reasons of what was skipped, and the counts.
# -v log_file=FILE: where all output is. -v data=DIR: the folder of test data, empty where it is absent. Exit 1: something failed.
# Of a program that ran many tests, each counts. A skipped test says why: in the line after googletest's "Skipped", or in its own
# line that begins "Skipped: ".

function attribute(name) {
  if (!match($0, name "=\"[^\"]*\"")) return ""
  return substr($0, RSTART + length(name) + 2, RLENGTH - length(name) - 3)
}

function unescape(text) {
  gsub(/&lt;/, "<", text)
  gsub(/&gt;/, ">", text)
  gsub(/&quot;/, "\"", text)
  gsub(/&amp;/, "\\&", text)
  return text
}

# What a test is called: ctest's name where that is the test itself, or the program's and the test's.
function full(test) { return test == "" || index(name, test) ? name : name ": " test }

function fail(test) {
  failed++
  failures = failures "\n  " full(test)
  printf "---- %s failed after %.1f s\n%s\n", full(test), seconds, output
}

function skip(test) {
  skipped++
  if (reason == "") reason = "no reason given (" ctest_reason ")"
  why[reason] = why[reason] "\n      " full(test)
  if (data != "" && reason ~ /LOCKSTEP_TEST_DATA/) lacking = lacking "\n  " full(test)
}

/<testcase / {
  name = attribute("name")
  status = attribute("status")
  seconds = attribute("time")
  reason = output = test = ""
  reason_next = counted = failed_here = 0
  next
}
/<skipped message=/ { ctest_reason = attribute("message") }
/<system-out>/ {
  inside = 1
  sub(/.*<system-out>/, "")
}
inside {
  last = /<\/system-out>/
  sub(/<\/system-out>.*/, "")
  line = unescape($0)
  if (line ~ /^\[ RUN      \] /) {
    test = substr(line, 14)
    reason = output = ""
    reason_next = 0
  }
  output = output line "\n"
  if (reason_next && line != "") {
    reason = reason == "" ? line : reason
    reason_next = 0
  }
  if (line ~ /: Skipped$/) reason_next = 1
  if (line ~ /^Skipped: /) reason = substr(line, 10)
  # A program says how each of its tests ended; other commands end as they end.
  if (line ~ /^\[ +(OK|SKIPPED|FAILED) +\] .*\([0-9]+ ms\)$/) {
    counted++
    if (line ~ /^\[ +OK/) passed++
    else if (line ~ /^\[ +SKIPPED/) skip(test)
    else {
      fail(test)
      failed_here++
    }
  }
  if (last) inside = 0
}
/<\/testcase>/ {
  if (status == "run") passed += !counted
  else if (status != "notrun") { if (!failed_here) fail(test) }
  else if (!counted) skip("")
}
END {
  if (failures != "") print "Failed:" failures
  if (lacking != "") print "Skipped for lack of data, though " data " is there; that is a failure:" lacking
  if (skipped) {
    print "Skipped, and why:"
    for (reason in why) print "  " reason why[reason]
  }
  if (failures != "") print "All output is in " log_file "."
  printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
  exit failed || lacking != "" || passed == 0
}
