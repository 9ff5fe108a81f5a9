#include "schedule/refusal.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace lockstep {

std::string describe(const Refusal& refusal) {
  std::vector<std::string> where;
  if (refusal.step >= 0) where.push_back(fmt::format("step {}", refusal.step));
  if (refusal.chunk >= 0) where.push_back(fmt::format("chunk {}", refusal.chunk));
  if (refusal.rank >= 0) where.push_back(fmt::format("rank {}", refusal.rank));
  if (where.empty()) return refusal.sentence + ".";
  return fmt::format("{}: {}.", fmt::join(where, ", "), refusal.sentence);
}

}  // namespace lockstep
