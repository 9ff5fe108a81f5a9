#include "tests/conformance/run_ranks.h"

namespace lockstep::testing_support {

void run_ranks(int n, const std::function<void(World&)>& f) { run_threads(n, f); }

bool ranks_see_memory() { return true; }

}  // namespace lockstep::testing_support
