#include "algorithms/catalog.h"

#include "algorithms/pieces.h"
#include "base/nearest.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> kAll{
      {"direct", "everybody sums one chunk from all ranks and sends it to all; 2 steps", algorithm::direct},
      {"ring", "chunks travel around a ring, summed on the way, then back out; 2(n-1) steps", algorithm::ring},
      {"tree", "sums go up a binomial tree and the result comes down; 2 ceil(log2 n) steps", algorithm::tree},
  };
  return kAll;
}

const Algorithm& find_algorithm(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("There is no algorithm '{}'. {}", name, suggestion(name, names)));
}

const Algorithm& default_algorithm(Collective) { return find_algorithm("direct"); }

}  // namespace lockstep
