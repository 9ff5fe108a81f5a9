#include "algorithms/halving.h"

#include <vector>

namespace lockstep::algorithm {

namespace {

/// Which chunks end at which core rank. An all_reduce has one for each; where blocks belong to ranks, a core rank
/// stands for those of the rank behind it too.
class Shares {
 public:
  Shares(const CoreRanks& core, bool by_blocks) : core_(core), by_blocks_(by_blocks) {}

  std::vector<int> of(int core) const { return by_blocks_ ? core_.ranks_of(core) : std::vector<int>{core}; }
  int count(int ranks) const { return by_blocks_ ? ranks : core_.size(); }

 private:
  const CoreRanks& core_;
  bool by_blocks_;
};

/// The exchanges among the core ranks.
class Halving {
 public:
  Halving(const CoreRanks& core, const Shares& shares, Partner partner)
      : core_(core), shares_(shares), partner_(partner) {}

  int steps() const {
    int steps = 0;
    while (1 << steps < core_.size()) ++steps;
    return steps;
  }

  /// Calls `use(chunk, me, partner)` for what `me` sends in one step of the halving: what the partner has left to sum
  /// after it. In the doubling the partner sends the same back.
  template <class Use>
  void for_each_share(int step, const Use& use) const {
    for (int me = 0; me < core_.size(); ++me) {
      const int partner = partner_(me, step, core_.size());
      for_each_owner(partner, step + 1, [&](int owner) {
        for (const int chunk : shares_.of(owner)) use(chunk, core_.rank(me), core_.rank(partner));
      });
    }
  }

 private:
  /// Calls `use(owner)` for those whose chunks `me` has left to sum before the step.
  template <class Use>
  void for_each_owner(int me, int step, const Use& use) const {
    const Reach reach = reach_of(partner_, me, step, core_.size());
    for (int base = 0; base < core_.size(); base += reach.period) {
      use(base + reach.first);
      if (reach.second != reach.first) use(base + reach.second);
    }
  }

  const CoreRanks& core_;
  const Shares& shares_;
  Partner partner_;
};

}  // namespace

Schedule halve_and_double(std::string_view name, const ScheduleRequest& request, Partner partner) {
  const CoreRanks core(request.ranks);
  const bool by_blocks = has_blocks(request.collective);
  const Shares shares(core, by_blocks);
  const Halving halving(core, shares, partner);
  const int chunks = shares.count(request.ranks);
  ScheduleBuilder s = begin(name, request, chunks);
  if (is_reduction(request.collective)) {
    core.for_each_behind([&](ScheduleBuilder::Link up) {
      for (int chunk = 0; chunk < chunks; ++chunk) s.reduce(chunk, up);
    });
    s.end_step();
    for (int step = 0; step < halving.steps(); ++step) {
      halving.for_each_share(step, [&](int chunk, int me, int other) { s.reduce(chunk, {.from = me, .to = other}); });
      s.end_step();
    }
  }
  if (request.collective == Collective::kReduceScatter) {
    core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(up.from, {.from = up.to, .to = up.from}); });
    return s.take();
  }
  if (request.collective == Collective::kAllGather) {
    core.for_each_behind([&](ScheduleBuilder::Link up) { s.copy(up.from, up); });
    s.end_step();
  }
  for (int step = halving.steps() - 1; step >= 0; --step) {
    halving.for_each_share(step, [&](int chunk, int me, int other) { s.copy(chunk, {.from = other, .to = me}); });
    s.end_step();
  }
  core.for_each_behind([&](ScheduleBuilder::Link up) {
    for (int chunk = 0; chunk < chunks; ++chunk) {
      if (!by_blocks || chunk != up.from) s.copy(chunk, {.from = up.to, .to = up.from});
    }
  });
  return s.take();
}

}  // namespace lockstep::algorithm
