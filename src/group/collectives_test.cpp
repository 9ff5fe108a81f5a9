#include <lockstep/world.h>

#include "algorithms/catalog.h"
#include "group/contributions_for_tests.h"
#include "tests/conformance/run_ranks.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep {

using testing_support::run_ranks;

TEST(Collectives, EveryAlgorithmOfTheRootedCollectives) {
  for (const Algorithm& algorithm : algorithms()) {
    for (const int ranks : {1, 2, 3, 4, 5, 8}) {
      for (const std::size_t block : {0U, 1U, 2U, 33U, 34U}) {
        SCOPED_TRACE(case_name(algorithm.name, ranks, block));
        const std::size_t count = block * static_cast<std::size_t>(ranks);
        run_ranks(ranks, [&](World& world) {
          const OperationOptions options{.algorithm = std::string(algorithm.name)};
          const auto rank = static_cast<std::size_t>(world.rank());
          const RegisteredMemory memory = world.allocate(count * sizeof(float));
          std::vector<float> plain(count);
          float* values = block % 2 == 0 ? static_cast<float*>(memory.data()) : plain.data();
          const auto fill = [&] {
            world.barrier().wait();  // nobody's values change while a peer may still read them
            for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(contribution(world.rank(), i));
          };
          for (const int root : {0, ranks - 1}) {
            const bool is_root = world.rank() == root;
            if (algorithm.supports(Collective::kReduce)) {
              fill();
              world.reduce(buffer_of(values, count), root, ReduceOp::kMean, options).wait();
              for (std::size_t i = 0; is_root && i < count; ++i) {
                ASSERT_FLOAT_EQ(values[i], static_cast<float>(expected(ReduceOp::kMean, ranks, i)));
              }
            }
            if (algorithm.supports(Collective::kGather)) {
              fill();
              world.gather(buffer_of(values, count), root, options).wait();
              for (std::size_t i = 0; is_root && i < count; ++i) {
                ASSERT_EQ(values[i], contribution(static_cast<int>(i / block), i));
              }
            }
            if (algorithm.supports(Collective::kScatter)) {
              fill();
              world.scatter(buffer_of(values, count), root, options).wait();
              for (std::size_t i = rank * block; i < (rank + 1) * block; ++i) {
                ASSERT_EQ(values[i], contribution(root, i));
              }
            }
          }
        });
      }
    }
  }
}

TEST(Collectives, AllToAllSendsBlockByDestinationAndReceivesBySource) {
  for (const Algorithm& algorithm : algorithms()) {
    if (!algorithm.supports(Collective::kAllToAll)) continue;
    for (const int ranks : {1, 2, 3, 5, 8}) {
      for (const std::size_t block : {0U, 1U, 33U, 20'001U}) {
        for (const bool registered : {false, true}) {
          SCOPED_TRACE(case_name(algorithm.name, ranks, block));
          const std::size_t count = block * static_cast<std::size_t>(ranks);
          run_ranks(ranks, [&](World& world) {
            const RegisteredMemory memory = world.allocate(2 * count * sizeof(float));
            std::vector<float> plain(2 * count);
            float* input = registered ? static_cast<float*>(memory.data()) : plain.data();
            float* output = input + count;
            for (std::size_t i = 0; i < count; ++i)
              input[i] = static_cast<float>(1000 * world.rank()) + static_cast<float>(i % 997);
            world.all_to_all(input, buffer_of(output, count), {.algorithm = std::string(algorithm.name)}).wait();
            for (std::size_t i = 0; i < count; ++i) {
              const std::size_t sent_at = static_cast<std::size_t>(world.rank()) * block + i % block;
              ASSERT_EQ(output[i], static_cast<float>(1000 * (i / block)) + static_cast<float>(sent_at % 997));
            }
            world.barrier().wait();
          });
        }
      }
    }
  }
}

TEST(Collectives, BlocksOfDifferentSizes) {
  run_ranks(4, [](World& world) {
    const std::vector<std::size_t> counts{3, 0, 70'000, 1};
    const std::vector<std::size_t> begins{0, 3, 3, 70'003, 70'004};
    const auto rank = static_cast<std::size_t>(world.rank());
    const std::size_t count = begins.back();
    std::vector<std::int32_t> values(count);
    const auto fill = [&] {
      for (std::size_t i = 0; i < count; ++i) values[i] = contribution(world.rank(), i);
    };
    const auto owner = [&](std::size_t i) { return i < 3 ? 0 : i < 70'003 ? 2 : 3; };
    fill();
    world.all_gather_v(buffer_of(values), counts).wait();
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(values[i], contribution(owner(i), i));
    fill();
    world.gather_v(buffer_of(values), counts, 1).wait();
    for (std::size_t i = 0; rank == 1 && i < count; ++i) ASSERT_EQ(values[i], contribution(owner(i), i));
    fill();
    world.scatter_v(buffer_of(values), counts, 2).wait();
    for (std::size_t i = begins[rank]; i < begins[rank + 1]; ++i) ASSERT_EQ(values[i], contribution(2, i));
    fill();
    world.reduce_scatter_v(buffer_of(values), counts).wait();
    for (std::size_t i = begins[rank]; i < begins[rank + 1]; ++i) ASSERT_EQ(values[i], expected(ReduceOp::kSum, 4, i));
  });
}

}  // namespace lockstep
