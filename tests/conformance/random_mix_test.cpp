// Random operations, several under way at a time, on every kind of world.
#include "base/environment.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/on_every_setting.h"

#include <gtest/gtest.h>

#include <iostream>
#include <optional>
#include <random>

namespace lockstep::conformance {

namespace {

constexpr std::size_t kOperations = 400;
constexpr std::size_t kMostUnderWay = 5;
constexpr const char* kSeedVariable = "LOCKSTEP_TEST_SEED";

class RandomMix : public OnEverySetting {};
LOCKSTEP_ON_EVERY_SETTING(RandomMix);

using Random = std::mt19937_64;

template <class Container>
auto& one_of(Container& choices, Random& random) {
  return choices[random() % choices.size()];
}

/// From 0 up, small ones as often as large ones.
std::size_t draw_count(Random& random) { return random() % (std::size_t{1} << (random() % 16)); }

Case draw_case(int ranks, bool has_registered, Random& random) {
  const Facts& facts = one_of(all_facts(), random);
  Case one{.collective = facts.collective, .dtype = one_of(kDataTypes, random)};
  std::vector<std::string> names = names_for(facts.collective);
  names.emplace_back("auto");
  one.algorithm = one_of(names, random);
  one.values = facts.sums() ? Values::kExact : Values::kAnyBits;
  if (facts.sums()) one.op = one_of(kReduceOps, random);
  if (facts.sums() && random() % 4 == 0) {
    one.algorithm = "auto";
    one.values = Values::kOrder;
    one.reduction = Reduction::kCanonical;
  }
  one.root = static_cast<int>(random() % static_cast<std::size_t>(ranks));
  one.first = draw_count(random);
  one.registered = has_registered && random() % 2 == 0;
  one.in_background = random() % 2 == 0;
  one.by_counts = facts.takes_counts && random() % 2 == 0;
  if (facts.collective == Collective::kBarrier) return one;
  one.blocks = even_blocks(facts, ranks, draw_count(random));
  for (std::size_t& block : one.blocks) block = one.by_counts ? draw_count(random) : block;
  return one;
}

std::uint64_t draw_seed() {
  if (const auto given = environment(kSeedVariable)) return std::stoull(*given);
  return std::random_device()();
}

/// A place for an operation under way.
struct Slot {
  MemberMemory memory;
  std::optional<Trial> trial;
};

}  // namespace

TEST_P(RandomMix, EveryResultIsRightWhateverIsUnderWay) {
  const std::uint64_t seed = draw_seed();
  std::cout << "seed " << seed << " (" << kSeedVariable << "=" << seed << " repeats it)\n";
  const int ranks = GetParam().ranks;
  Random random(seed);
  std::vector<Case> cases;
  while (cases.size() < kOperations) cases.push_back(draw_case(ranks, has_registered(), random));
  const Inputs inputs(ranks);
  run_world(GetParam(), [&](Member& member) {
    Random own(seed + 1 + static_cast<std::uint64_t>(member.world.rank()));  // when it waits, and for what
    std::vector<Slot> slots;
    for (std::size_t i = 0; i < kMostUnderWay; ++i) slots.push_back({MemberMemory(member.world, cases), std::nullopt});
    for (const Case& one : cases) {
      Slot& slot = one_of(slots, own);
      if (slot.trial) slot.trial->finish();
      slot.trial.emplace(member.world, inputs, one, slot.memory.of(one)).start();
      if (own() % 4 == 0) member.world.progress();
    }
    for (Slot& slot : slots) {
      if (slot.trial) slot.trial->finish();
    }
  });
}

}  // namespace lockstep::conformance
