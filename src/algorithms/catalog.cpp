#include "algorithms/catalog.h"

#include "algorithms/pieces.h"
#include "base/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>

namespace lockstep {

const std::vector<Algorithm>& algorithms() {
  using enum Collective;
  static const std::vector<Collective> kMost{kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier};
  static const std::vector<Algorithm> kAll{
      {"direct", "everybody sums one chunk from all ranks and sends it to all; 2 steps", kMost, algorithm::direct},
      {"ring", "chunks travel around a ring, summed on the way, then back out; 2(n-1) steps", kMost, algorithm::ring},
      {"tree", "sums go up a binomial tree and the result comes down; 2 ceil(log2 n) steps", kMost, algorithm::tree},
  };
  return kAll;
}

bool Algorithm::supports(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

Schedule Algorithm::build(const ScheduleRequest& request) const {
  if (supports(request.collective)) return write(request);
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The algorithm '{}' does no {}; these do: {}.", name, to_string(request.collective),
                          fmt::join(algorithms_for(request.collective), ", ")));
}

std::vector<std::string_view> algorithms_for(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.supports(collective)) names.push_back(algorithm.name);
  }
  return names;
}

Algorithm find_algorithm(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("There is no algorithm '{}'. {}", name, suggestion(name, names)));
}

Algorithm default_algorithm(Collective) { return find_algorithm("direct"); }

}  // namespace lockstep
