#pragma once

#include "runtime/plan.h"
#include "schedule/view.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace lockstep {

/// Waits for the same peer are one wait, for the furthest. Nobody waits for itself.
class Waits {
 public:
  explicit Waits(int self) : self_(self) {}
  void add(int peer, int ticks) {
    if (peer == self_) return;
    int& furthest = furthest_.try_emplace(peer, 0).first->second;
    furthest = std::max(furthest, ticks);
  }
  std::vector<Plan::Wait> take() {
    std::vector<Plan::Wait> waits;
    for (const auto& [peer, ticks] : std::exchange(furthest_, {})) waits.push_back({peer, ticks});
    return waits;
  }

 private:
  int self_;
  std::map<int, int> furthest_;
};

/// What one chunk takes in in one step.
struct Intake {
  TransferKind kind;
  int chunk;
  std::vector<int> sources;  ///< in the order listed
};

/// The transfers that a rank receives in one step, one Intake a chunk.
std::vector<Intake> intakes_of(const std::vector<Transfer>& receives);

/// The ranks whose values are combined: the sources and, in a reduction, `rank` itself; ascending.
std::vector<int> combined_ranks(const Intake& intake, int rank);

}  // namespace lockstep
