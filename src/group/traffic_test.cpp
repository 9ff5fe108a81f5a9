#include "group/thread_world.h"
#include "transport/tcp/hmac.h"

#include <gtest/gtest.h>
#include <lockstep/traffic.h>

#include <vector>

namespace lockstep {
namespace {

constexpr std::size_t kCount = std::size_t{1} << 16;
constexpr double kReducedBytes = kCount * sizeof(float);

class Traffic : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Traffic, testing::Values(2, 3, 4));

TEST_P(Traffic, IsWhatTheAlgorithmSendsAndLittleMore) {
  detail::run_threads_over_tcp(GetParam(), [](World& world) {
    const double ranks = world.size();
    std::vector<float> values(kCount, 1);
    const auto before = bytes_sent(world);
    world.all_reduce(buffer_of(values), ReduceOp::kSum, {.algorithm = "ring"}).wait();
    const auto sent = static_cast<double>(bytes_sent(world) - before);
    EXPECT_GE(sent, 2 * (ranks - 1) / ranks * kReducedBytes - 2 * ranks * sizeof(float));
    EXPECT_LE(sent, 2 * (ranks - 1) / ranks * kReducedBytes + 1024 * ranks);
  });
}

TEST(Traffic, CountsMessagesAndEachGroupForItself) {
  if (!tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  detail::run_threads_over_tcp(2, [](World& world) {
    std::vector<float> values(kCount, 1);
    const auto before = bytes_sent(world);
    if (world.rank() == 0) world.send(buffer_of(values), 1).wait();
    if (world.rank() == 1) world.receive(buffer_of(values), 0).wait();
    const auto of_the_message = static_cast<double>(bytes_sent(world) - before);
    EXPECT_GE(of_the_message, world.rank() == 0 ? kReducedBytes : 0);
    EXPECT_LE(of_the_message, (world.rank() == 0 ? kReducedBytes : 0) + 1024);

    const Group pair = world.split(0);
    const auto after_split = bytes_sent(world);
    pair.all_reduce(buffer_of(values)).wait();
    EXPECT_GE(static_cast<double>(bytes_sent(pair)), kReducedBytes);
    EXPECT_EQ(bytes_sent(world), after_split);
  });
}

TEST(Traffic, IsNoneThroughSharedMemoryAndAlone) {
  run_threads(2, [](World& world) {
    std::vector<float> values(kCount, 1);
    world.all_reduce(buffer_of(values)).wait();
    EXPECT_EQ(bytes_sent(world), 0u);
  });
  EXPECT_EQ(bytes_sent(World::alone()), 0u);
}

}  // namespace
}  // namespace lockstep
