#pragma once

#include <cstdio>
#include <cstdlib>

namespace lockstep::fuzz {

/// Ends the process, as a fuzzer wants it, if what was promised does not hold.
inline void require(bool holds, const char* promise) {
  if (holds) return;
  std::fprintf(stderr, "This does not hold: %s\n", promise);
  std::abort();
}

}  // namespace lockstep::fuzz
