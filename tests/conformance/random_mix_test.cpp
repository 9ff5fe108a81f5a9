// Random operations, several under way at a time, on every kind of world: collectives, messages and blocks of any size,
// in the world and in parts that it is split into meanwhile.
#include "base/environment.h"
#include "tests/conformance/cases.h"
#include "tests/conformance/known_values.h"
#include "tests/conformance/member_memory.h"
#include "tests/conformance/on_every_setting.h"
#include "transport/tcp/hmac.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <utility>
#include <vector>

namespace lockstep::conformance {

namespace {

constexpr int kOperations = 400;
constexpr std::size_t kSplits = 2;
constexpr std::size_t kMostUnderWay = 5;
constexpr const char* kSeedVariable = "LOCKSTEP_TEST_SEED";

class RandomMix : public OnEverySetting {};
LOCKSTEP_ON_EVERY_SETTING(RandomMix);

std::vector<Setting> settings_on_two_hosts() {
  std::vector<Setting> settings = every_setting_on_hosts();
  std::erase_if(settings, [](const Setting& one) { return one.hosts != std::vector{0, 0, 1, 1}; });
  return settings;
}
INSTANTIATE_TEST_SUITE_P(OnHosts, RandomMix, testing::ValuesIn(settings_on_two_hosts()),
                         testing::PrintToStringParamName());

using Random = std::mt19937_64;

template <class Container>
auto& one_of(Container& choices, Random& random) {
  return choices[random() % choices.size()];
}

/// From 0 up, small ones as often as large ones.
std::size_t draw_count(Random& random, std::size_t doublings = 16) {
  return random() % (std::size_t{1} << (random() % doublings));
}
/// Of which some are more than a stream between two ranks holds: up to 1 MiB.
constexpr std::size_t kDoublingsOfMessages = 19;

int draw_rank(int ranks, Random& random) { return static_cast<int>(random() % static_cast<std::size_t>(ranks)); }

Case draw_case(int ranks, bool has_registered, Random& random) {
  const Facts& facts = one_of(all_facts(), random);
  Case one{.collective = facts.collective, .dtype = one_of(kDataTypes, random)};
  std::vector<std::string> names = names_for(facts.collective);
  names.emplace_back("auto");
  one.algorithm = one_of(names, random);
  const bool is_cut = one.algorithm == "auto" || one.algorithm.starts_with("segmented:");
  if (!is_cut && random() % 4 == 0) one.algorithm = "segmented:2:" + one.algorithm;
  one.values = facts.sums() ? Values::kExact : Values::kAnyBits;
  if (facts.sums()) one.op = one_of(kReduceOps, random);
  if (facts.sums() && random() % 4 == 0) {
    one.algorithm = "auto";
    one.values = Values::kOrder;
    one.reduction = Reduction::kCanonical;
  }
  one.root = draw_rank(ranks, random);
  one.first = draw_count(random);
  one.registered = has_registered && random() % 2 == 0;
  one.in_background = random() % 2 == 0;
  one.by_counts = facts.takes_counts && random() % 2 == 0;
  if (facts.collective == Collective::kBarrier) return one;
  one.blocks = even_blocks(facts, ranks, draw_count(random));
  for (std::size_t& block : one.blocks) block = one.by_counts ? draw_count(random) : block;
  return one;
}

/// What a group does together: one of the three.
struct Act {
  std::optional<Case> collective;
  std::vector<std::size_t> counts;    ///< of an all_to_all_v
  DataType dtype = DataType::kInt32;  ///< of that
  int from = 0;                       ///< of a message
  int to = 0;
  std::size_t count = 0;
  int number = 0;  ///< of the operation among all
};

Act draw_act(int ranks, bool has_registered, Random& random) {
  Act act;
  const std::size_t kind = random() % 8;
  if (kind == 0 && ranks > 1) {
    act.from = draw_rank(ranks, random);
    act.to = (act.from + 1 + draw_rank(ranks - 1, random)) % ranks;
    act.count = draw_count(random, kDoublingsOfMessages);
  } else if (kind == 1) {
    for (int pair = 0; pair < ranks * ranks; ++pair) act.counts.push_back(draw_count(random) / 2);
    act.dtype = one_of(kDataTypes, random);
  } else {
    act.collective = draw_case(ranks, has_registered, random);
  }
  return act;
}

/// The world's ranks in groups side by side.
struct Partition {
  std::vector<int> colours;  ///< by rank
  std::vector<int> keys;

  int size_of(int colour) const { return static_cast<int>(std::count(colours.begin(), colours.end(), colour)); }
};

/// What all do next: each group of a partition its own.
struct Round {
  int number;  ///< from 1
  std::size_t partition;
  std::map<int, Act> acts;  ///< by colour
};

/// What the ranks do, the same on all of them. The first partition is the world; the others are made on the way.
struct Mix {
  std::vector<Partition> partitions;
  std::vector<Round> rounds;

  Mix(const Setting& setting, bool has_registered, Random& random) {
    const auto ranks = static_cast<std::size_t>(setting.ranks);
    partitions.push_back({std::vector<int>(ranks), std::vector<int>(ranks)});
    const bool can_split = setting.medium != Medium::kTcp || tcp::hmac_is_built_in();
    for (std::size_t split = 0; can_split && split < kSplits; ++split) {
      Partition& partition = partitions.emplace_back(partitions.front());
      for (int& colour : partition.colours) colour = draw_rank(3, random);
      for (int& key : partition.keys) key = draw_rank(setting.ranks, random);
    }
    for (int number = 1; number <= kOperations; ++number) {
      Round& round = rounds.emplace_back(Round{number, random() % made_before(number), {}});
      for (const int colour : partitions[round.partition].colours) {
        if (round.acts.contains(colour)) continue;
        Act act = draw_act(partitions[round.partition].size_of(colour), has_registered && round.partition == 0, random);
        act.number = number;
        round.acts.emplace(colour, std::move(act));
      }
    }
  }

  /// How many of the partitions there are at a round: they come at even distances.
  std::size_t made_before(int round) const {
    return 1 + partitions.size() * static_cast<std::size_t>(round) / (kOperations + 1);
  }

  std::vector<Case> cases() const {
    std::vector<Case> all;
    for (const Round& round : rounds) {
      for (const auto& [colour, act] : round.acts) {
        if (act.collective) all.push_back(*act.collective);
      }
    }
    return all;
  }
};

/// Something under way: waits for it, and looks at what came.
using Finish = std::function<void()>;

Finish start_message(const Group& group, const Act& act) {
  const bool sends = group.rank() == act.from;
  if (!sends && group.rank() != act.to) return {};
  const auto values = std::make_shared<std::vector<std::int32_t>>(act.count, -1);
  if (sends) *values = message(act.from, act.number, act.count);
  const auto pending = std::make_shared<Pending>(sends ? group.send(buffer_of(*values), act.to)
                                                       : group.receive(buffer_of(*values), act.from));
  return [=] {
    pending->wait();
    ASSERT_EQ(*values, message(act.from, act.number, act.count)) << "message of operation " << act.number;
  };
}

Finish start_all_to_all_v(const Group& group, const Act& act) {
  const auto blocks = [act, rank = group.rank(), ranks = group.size()](bool sends) {
    return blocks_of(rank, ranks, act.counts, act.dtype, sends);
  };
  const auto input = std::make_shared<std::vector<unsigned char>>(blocks(true));
  const auto output = std::make_shared<std::vector<unsigned char>>(blocks(false).size(), 0xEE);
  const Buffer buffer{output->data(), output->size() / size_of(act.dtype), act.dtype};
  const auto pending = std::make_shared<Pending>(group.all_to_all_v(input->data(), buffer, act.counts));
  return [=, number = act.number] {
    pending->wait();
    ASSERT_EQ(*output, blocks(false)) << "all_to_all_v of operation " << number;
    ASSERT_EQ(*input, blocks(true)) << "all_to_all_v of operation " << number << " wrote to its input";
  };
}

std::uint64_t draw_seed() {
  if (const auto given = environment(kSeedVariable)) return std::stoull(*given);
  return std::random_device()();
}

/// A place for an operation under way.
struct Slot {
  MemberMemory memory;
  std::optional<Trial> trial;
  Finish finish;
  std::size_t partition = 0;
  int number = 0;

  void start(const Group& group, const Act& act, const std::map<int, Inputs>& inputs) {
    number = act.number;
    if (!act.collective) {
      finish = act.counts.empty() ? start_message(group, act) : start_all_to_all_v(group, act);
      return;
    }
    trial.emplace(group, inputs.at(group.size()), *act.collective, memory.of(*act.collective)).start();
    finish = [this] { trial->finish(); };
  }
  void complete() {
    if (finish) std::exchange(finish, nullptr)();
  }
};

void complete_up_to(int number, std::vector<Slot>& slots) {
  std::vector<Slot*> in_order;
  for (Slot& slot : slots) {
    if (slot.number <= number) in_order.push_back(&slot);
  }
  std::sort(in_order.begin(), in_order.end(), [](const Slot* a, const Slot* b) { return a->number < b->number; });
  for (Slot* slot : in_order) slot->complete();
}

/// Before a rank waits for an operation of some group. Who waits in one group moves nothing of another, so what came
/// before in others is completed first: then nobody waits for one that waits elsewhere.
void make_way_for(std::size_t partition, int number, std::vector<Slot>& slots) {
  int last = 0;
  for (const Slot& slot : slots) {
    if (slot.finish && slot.partition != partition && slot.number < number) last = std::max(last, slot.number);
  }
  complete_up_to(last, slots);
}

}  // namespace

TEST_P(RandomMix, EveryResultIsRightWhateverIsUnderWay) {
  const std::uint64_t seed = draw_seed();
  std::cout << "seed " << seed << " (" << kSeedVariable << "=" << seed << " repeats it)" << std::endl;
  Random random(seed);
  const Mix mix(GetParam(), has_registered(), random);
  std::map<int, Inputs> inputs;
  for (const Partition& partition : mix.partitions) {
    for (const int colour : partition.colours) inputs.try_emplace(partition.size_of(colour), partition.size_of(colour));
  }
  run_world(GetParam(), [&](Member& member) {
    const World& world = member.world;
    const auto rank = static_cast<std::size_t>(world.rank());
    Random own(seed + 1 + rank);  // when it waits, and for what
    std::vector<Group> groups{static_cast<const Group&>(world)};
    groups.reserve(mix.partitions.size());  // trials refer to them
    std::vector<Slot> slots;
    const std::vector<Case> cases = mix.cases();
    for (std::size_t i = 0; i < kMostUnderWay; ++i) slots.push_back({MemberMemory(world, cases), {}, {}, 0, 0});
    for (const Round& round : mix.rounds) {
      while (groups.size() < mix.made_before(round.number)) {
        const Partition& next = mix.partitions[groups.size()];
        make_way_for(0, round.number, slots);
        groups.push_back(world.split(next.colours[rank], next.keys[rank]));
      }
      Slot& slot = one_of(slots, own);
      if (slot.finish) make_way_for(slot.partition, slot.number, slots);
      slot.complete();
      slot.partition = round.partition;
      slot.start(groups[round.partition], round.acts.at(mix.partitions[round.partition].colours[rank]), inputs);
      if (own() % 4 == 0) one_of(groups, own).progress();
    }
    complete_up_to(kOperations, slots);
  });
}

}  // namespace lockstep::conformance
