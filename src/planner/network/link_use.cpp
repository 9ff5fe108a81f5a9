#include "planner/network/link_use.h"

#include <algorithm>
#include <map>
#include <utility>

namespace lockstep {

namespace {

/// Takes links one after another.
class Summary {
 public:
  template <class NameOf>
  void add(Wiring::Kind kind, double use, const NameOf& name_of) {
    auto& [sum, links] = by_kind_.try_emplace(kind, LinkUse{.kind = kind, .busiest = {}}, 0).first->second;
    sum.mean += use;
    ++links;
    if (use > sum.most * (1 + 1e-9)) {
      sum.most = use;
      sum.busiest = name_of();
    }
    if (use > 0 && each_.size() <= kMostNamedLinks) each_.push_back({name_of(), use});  // one too many is enough
  }

  LinkUses take() {
    LinkUses uses;
    for (auto& [kind, entry] : by_kind_) {
      entry.first.mean /= entry.second;
      if (entry.first.most > 0) uses.by_kind.push_back(std::move(entry.first));
    }
    if (each_.size() <= kMostNamedLinks) uses.each = std::move(each_);
    return uses;
  }

 private:
  std::map<Wiring::Kind, std::pair<LinkUse, int>> by_kind_;  ///< with the number of links
  std::vector<NamedUse> each_;
};

}  // namespace

LinkUses link_uses(const Simulation& simulation, const Wiring& wiring) {
  Summary summary;
  for (int i = 0; i < static_cast<int>(wiring.resources().size()); ++i) {
    const Wiring::Kind kind = wiring.resources()[static_cast<std::size_t>(i)].kind;
    summary.add(kind, simulation.use_of(i), [&] { return wiring.name_of(i); });
  }
  return summary.take();
}

LinkUses link_uses(const Loads& loads, int ranks, const FlatCost& cost, double seconds) {
  Summary summary;
  const auto add = [&](Wiring::Kind kind, int rank, double busy_seconds) {
    summary.add(kind, seconds > 0 ? busy_seconds / seconds : 0, [=] { return flat_link_name(kind, rank); });
  };
  for (int rank = 0; rank < ranks; ++rank) {
    add(Wiring::Kind::kCore, rank, loads.of_rank(rank).reduced_bytes * cost.gamma_s);
  }
  for (int rank = 0; rank < ranks; ++rank) {
    const RankLoad load = loads.of_rank(rank);
    add(Wiring::Kind::kNicOut, rank, load.sent.seconds(cost));
    add(Wiring::Kind::kNicIn, rank, load.received.seconds(cost));
  }
  return summary.take();
}

}  // namespace lockstep
