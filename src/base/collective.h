#pragma once

#include <lockstep/types.h>

namespace lockstep {

/// Whether values of all ranks are combined; elsewhere they are only copied, or there are none.
constexpr bool sums_values(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

/// Whether one rank is the one that it starts from or ends at.
constexpr bool has_root(Collective collective) {
  return collective == Collective::kBroadcast || collective == Collective::kReduce ||
         collective == Collective::kGather || collective == Collective::kScatter;
}

}  // namespace lockstep
