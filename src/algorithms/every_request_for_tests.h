#pragma once

#include "algorithms/catalog.h"
#include "schedule/promise.h"

#include <gtest/gtest.h>

namespace lockstep {

/// Every algorithm for every collective on `ranks` ranks, with every root.
template <class Use>
void for_each_request_on(int ranks, const Use& use) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const Collective collective : algorithm.collectives) {
      const int roots = has_root(collective) ? ranks : 1;
      for (int root = 0; root < roots; ++root) {
        SCOPED_TRACE(::testing::Message()
                     << algorithm.name << " " << to_string(collective) << " on " << ranks << " ranks from " << root);
        use(algorithm, ScheduleRequest{.collective = collective, .ranks = ranks, .root = root});
      }
    }
  }
}

template <class Use>
void for_each_request(int most_ranks, const Use& use) {
  for (int ranks = 1; ranks <= most_ranks; ++ranks) for_each_request_on(ranks, use);
}

}  // namespace lockstep
