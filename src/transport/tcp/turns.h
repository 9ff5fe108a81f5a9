#pragma once

#include "topology/cpu_quota.h"

namespace lockstep::tcp {

/// Whether so many ranks of this machine have fewer cores than they are, so that they work in turns.
bool take_turns(int ranks_here, int cores = job_cpus());

}  // namespace lockstep::tcp
