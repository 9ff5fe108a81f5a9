// Blocks of any size between any two ranks, on every kind of world.
#include "tests/conformance/either_memory.h"
#include "tests/conformance/known_values.h"
#include "tests/conformance/on_every_setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <random>
#include <vector>

namespace lockstep::conformance {

namespace {

class AllToAllV : public OnEverySetting {};
LOCKSTEP_ON_EVERY_SETTING(AllToAllV);

/// Some blocks are empty, some long; the same numbers on every rank.
std::vector<std::size_t> draw_counts(int ranks, std::size_t most, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::size_t> counts(static_cast<std::size_t>(ranks * ranks));
  for (std::size_t& count : counts) count = random() % 3 == 0 ? 0 : random() % (most + 1);
  return counts;
}

struct Exchange {
  const char* algorithm;
  DataType dtype;
  std::size_t most;  ///< elements of a block
  std::uint64_t seed;
};

/// Of every data type small ones by every algorithm, and large ones of several pieces; by every algorithm of one type.
std::vector<Exchange> exchanges() {
  std::vector<Exchange> all;
  for (const char* algorithm : {"direct", "pairwise", "segmented:3:pairwise", "auto"}) {
    for (const DataType dtype : kDataTypes) {
      for (const std::size_t most : {std::size_t{1}, std::size_t{100}}) {
        all.push_back({algorithm, dtype, most, all.size()});
      }
    }
    all.push_back({algorithm, DataType::kInt32, 300'000, all.size()});
  }
  for (const DataType dtype : kDataTypes) all.push_back({"auto", dtype, 400'000 / size_of(dtype), all.size()});
  return all;
}

}  // namespace

TEST_P(AllToAllV, EveryBlockEndsWhereItBelongs) {
  run_world(GetParam(), [](Member& member) {
    for (const Exchange& one : exchanges()) {
      const World& world = member.world;
      const auto counts = draw_counts(world.size(), one.most, one.seed);
      const auto blocks = [&](bool sends) { return blocks_of(world.rank(), world.size(), counts, one.dtype, sends); };
      const auto input = blocks(true);
      const auto expected = blocks(false);
      std::vector<unsigned char> output(expected.size(), 0xEE);
      const Buffer buffer{output.data(), output.size() / size_of(one.dtype), one.dtype};
      world.all_to_all_v(input.data(), buffer, counts, {.algorithm = one.algorithm}).wait();
      ASSERT_TRUE(output == expected) << one.algorithm << ", " << to_string(one.dtype) << ", up to " << one.most;
      EXPECT_TRUE(input == blocks(true)) << "the input is only read";
    }
  });
}

/// All memory is staged: ranks may even differ in whose is the group's.
TEST_P(AllToAllV, RunsInMemoryOfTheGroupAndAnyOther) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    std::uint64_t seed = 0;
    for (const DataType dtype : kDataTypes) {
      for (const std::size_t most : {std::size_t{100}, 400'000 / size_of(dtype)}) {
        const auto counts = draw_counts(world.size(), most, ++seed);
        const auto blocks = [&](bool sends) { return blocks_of(world.rank(), world.size(), counts, dtype, sends); };
        for (const bool differs : {false, true}) {
          const bool registered = !differs || world.rank() % 2 == 0;
          EitherMemory input(world, registered, blocks(true), dtype);
          EitherMemory output(world, registered, blocks(false).size() / size_of(dtype), dtype);
          world.all_to_all_v(input.buffer().data, output.buffer(), counts).wait();
          ASSERT_TRUE(output.holds(blocks(false))) << to_string(dtype) << ", up to " << most;
          ASSERT_TRUE(input.holds(blocks(true))) << "the input is only read";
        }
      }
    }
  });
}

TEST_P(AllToAllV, WrongArgumentsAreToldBeforeAnythingMoves) {
  run_world(GetParam(), [](Member& member) {
    const World& world = member.world;
    const auto ranks = static_cast<std::size_t>(world.size());
    const std::vector<std::size_t> ones(ranks * ranks, 1);
    std::vector<std::int32_t> input(ranks);
    std::vector<std::int32_t> output(ranks);
    const auto refusal = [&](const void* from, Buffer to, const std::vector<std::size_t>& counts) -> std::string {
      try {
        world.all_to_all_v(from, to, counts).wait();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
        return error.what();
      }
      return "nothing";
    };
    const Buffer all = buffer_of(output);
    EXPECT_THAT(refusal(input.data(), all, std::vector<std::size_t>(ranks * ranks + 1, 1)),
                testing::HasSubstr("block counts were given for the pairs of a group of"));
    EXPECT_THAT(refusal(input.data(), buffer_of(output.data(), ranks - 1), ones),
                testing::HasSubstr("elements in all, the buffer"));
    EXPECT_THAT(refusal(nullptr, all, ones), testing::HasSubstr("the input is a null pointer"));
    EXPECT_THAT(refusal(output.data(), all, ones), testing::HasSubstr("input and output overlap"));
    world.all_to_all_v(input.data(), all, ones).wait();
  });
}

}  // namespace lockstep::conformance
