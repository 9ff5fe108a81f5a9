#include "transport/shm/peers.h"

#include "transport/meeting.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace lockstep::shm {

std::chrono::microseconds Peers::slice_before(std::chrono::steady_clock::time_point deadline) {
  using std::chrono::microseconds;
  const auto left = std::chrono::duration_cast<microseconds>(deadline - std::chrono::steady_clock::now());
  return std::clamp(left, microseconds(1), microseconds(Company::kLookAround));
}

std::optional<Error> Peers::trouble() const {
  // A peer's own word comes first: it knows more than its hung-up lifeline does.
  for (int peer = 0; peer < size_; ++peer) {
    if (peer != rank_ && slot(peer).state() == RankState::kFailed) return slot(peer).failure_of(peer);
  }
  const std::vector<int> ended = hung_up(lifelines_);
  for (const int gone : ended) {  // it may have said why since, and ended then
    if (slot(gone).state() == RankState::kFailed) return slot(gone).failure_of(gone);
  }
  for (const int gone : ended) {
    // A rank that left in good order hangs up as well.
    if (slot(gone).state() == RankState::kLeft) continue;
    return Error(ErrorCode::kPeerDied, fmt::format("rank {} died", gone), {.rank = rank_, .peer = gone});
  }
  return std::nullopt;
}

std::optional<Error> Peers::absence_of(int peer) const {
  if (slot(peer).state() != RankState::kLeft) return std::nullopt;
  return Error(ErrorCode::kPeerLeft,
               fmt::format("rank {} has left the group; do all ranks run the same number of operations?", peer),
               {.rank = rank_, .peer = peer});
}

}  // namespace lockstep::shm
