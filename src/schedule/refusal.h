#pragma once

#include <string>

namespace lockstep {

/// Why a schedule may not run. Each number is -1 where the reason belongs to none. What is missing at the
/// end is missing after the last step.
struct Refusal {
  int rank = -1;
  int chunk = -1;
  int step = -1;
  std::string sentence;
};

/// "step 2, chunk 1, rank 0: rank 0 would ..."
std::string describe(const Refusal& refusal);

}  // namespace lockstep
