#pragma once

#include <lockstep/world.h>

#include <functional>

namespace lockstep::testing_support {

/// run_threads over the backend that the suite is linked with: one file here defines these for each.
void run_ranks(int n, const std::function<void(World&)>& f);
/// Whether ranks work on each other's buffers there.
bool ranks_see_memory();

}  // namespace lockstep::testing_support
