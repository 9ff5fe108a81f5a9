#pragma once

#include "planner/network/rank_loads.h"

namespace lockstep {

/// Of the algorithms in which the largest power of two of the ranks exchange with each other: forms of load_forms.h,
/// for p ranks and n bytes.
Loads recursive_doubling_loads(int p, double n);
Loads recursive_doubling_all_gather_loads(int p, double n);
Loads halving_doubling_loads(int p, double n);
Loads halving_doubling_reduce_scatter_loads(int p, double n);
Loads halving_doubling_all_gather_loads(int p, double n);
Loads swing_reduce_scatter_loads(int p, double n);  // its all_reduce is halving_doubling's, seen from a rank
Loads swing_all_gather_loads(int p, double n);

}  // namespace lockstep
