#include "runtime/plan_pieces.h"

namespace lockstep {

std::vector<Intake> intakes_of(const std::vector<Transfer>& receives) {
  std::vector<Intake> intakes;
  for (const Transfer& transfer : receives) {
    const auto same = std::find_if(intakes.begin(), intakes.end(),
                                   [&](const Intake& intake) { return intake.chunk == transfer.chunk; });
    if (same == intakes.end()) {
      intakes.push_back({transfer.kind, transfer.chunk, {transfer.from}});
    } else {
      same->sources.push_back(transfer.from);
    }
  }
  return intakes;
}

std::vector<int> combined_ranks(const Intake& intake, int rank) {
  std::vector<int> ranks = intake.sources;
  if (intake.kind == TransferKind::kReduce) ranks.push_back(rank);
  std::sort(ranks.begin(), ranks.end());
  return ranks;
}

}  // namespace lockstep
