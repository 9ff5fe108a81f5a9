#include "group/thread_world.h"
#include "tests/conformance/run_ranks.h"

namespace lockstep::testing_support {

void run_ranks(int n, const std::function<void(World&)>& f) { detail::run_threads_over_tcp(n, f); }

bool ranks_see_memory() { return false; }

}  // namespace lockstep::testing_support
