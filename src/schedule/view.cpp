#include "schedule/view.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <iterator>

namespace lockstep {

namespace {

std::vector<Transfer> between(const std::vector<Transfer>& transfers, int from, int to) {
  std::vector<Transfer> found;
  std::copy_if(transfers.begin(), transfers.end(), std::back_inserter(found),
               [&](const Transfer& transfer) { return transfer.from == from && transfer.to == to; });
  return found;
}

}  // namespace

RankView view_of(const Schedule& schedule, int rank) {
  if (rank < 0 || rank >= schedule.ranks) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("The schedule '{}' has ranks 0 to {}; there is no rank {}.",
                                                         schedule.name, schedule.ranks - 1, rank));
  }
  RankView view{.rank = rank, .ranks = schedule.ranks, .chunks = schedule.chunks, .steps = {}};
  view.steps.resize(schedule.steps.size());
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Transfer& transfer : schedule.steps[i]) {
      if (transfer.from == rank) view.steps[i].sends.push_back(transfer);
      if (transfer.to == rank) view.steps[i].receives.push_back(transfer);
    }
  }
  return view;
}

std::vector<RankView> views_of(const Schedule& schedule) {
  RankView at_rest{.rank = 0, .ranks = schedule.ranks, .chunks = schedule.chunks, .steps = {}};
  at_rest.steps.resize(schedule.steps.size());
  std::vector<RankView> views(static_cast<std::size_t>(schedule.ranks), at_rest);
  for (std::size_t rank = 0; rank < views.size(); ++rank) views[rank].rank = static_cast<int>(rank);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (const Transfer& transfer : schedule.steps[i]) {
      views.at(static_cast<std::size_t>(transfer.from)).steps[i].sends.push_back(transfer);
      views.at(static_cast<std::size_t>(transfer.to)).steps[i].receives.push_back(transfer);
    }
  }
  return views;
}

std::optional<int> first_disagreement(const RankView& a, const RankView& b) {
  const std::size_t common = std::min(a.steps.size(), b.steps.size());
  for (std::size_t i = 0; i < common; ++i) {
    if (between(a.steps[i].sends, a.rank, b.rank) != between(b.steps[i].receives, a.rank, b.rank) ||
        between(b.steps[i].sends, b.rank, a.rank) != between(a.steps[i].receives, b.rank, a.rank)) {
      return static_cast<int>(i);
    }
  }
  if (a.steps.size() != b.steps.size()) return static_cast<int>(common);
  return std::nullopt;
}

std::vector<int> finishing_steps(const RankView& view) {
  std::vector<int> finishing(static_cast<std::size_t>(view.chunks), -1);
  for (std::size_t i = 0; i < view.steps.size(); ++i) {
    for (const Transfer& sent : view.steps[i].sends) {
      if (sent.kind == TransferKind::kReduce) finishing[static_cast<std::size_t>(sent.chunk)] = -1;
    }
    for (const Transfer& received : view.steps[i].receives) {
      finishing[static_cast<std::size_t>(received.chunk)] =
          received.kind == TransferKind::kReduce ? static_cast<int>(i) : -1;
    }
  }
  return finishing;
}

}  // namespace lockstep
