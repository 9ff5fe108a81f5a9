#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include "train/test_model.h"

namespace lockstep {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// A tenth of 100 MB in a tenth of the messages, for 20 ms of work.
constexpr HookTraffic kTraffic{
    .dense_bytes = 100e6, .sent_bytes = 10e6, .dense_messages = 1000, .messages = 100, .hook_seconds = 0.02};

TEST(Advisor, AddsUpMessagesBytesAndOwnTime) {
  const auto advice = advise("hook", kTraffic, {.alpha_s = 1e-4, .beta_s = 1e-8, .source = "measured"});
  EXPECT_DOUBLE_EQ(advice.dense_seconds, 0.1 + 1);
  EXPECT_DOUBLE_EQ(advice.sent_seconds, 0.01 + 0.1);
  EXPECT_DOUBLE_EQ(advice.hook_seconds, 0.02);
  EXPECT_TRUE(advice.pays);
  EXPECT_EQ(
      advice.sentence,
      "hook pays on this link (100 us a message, 100 MB/s, measured): 110 ms to send 10 times fewer bytes and 20 ms "
      "of its own, against 1.1e+03 ms without it, which is 8.5 times faster.");
}

TEST(Advisor, SaysWhenItDoesNotPay) {
  const auto advice = advise("hook", kTraffic, {.beta_s = 1e-10, .source = "calibrated here"});
  EXPECT_FALSE(advice.pays);
  EXPECT_THAT(advice.sentence, AllOf(HasSubstr("hook does not pay on this link"), HasSubstr("calibrated here"),
                                     HasSubstr("1 ms to send"), HasSubstr("20 ms of its own, against 10 ms without it"),
                                     HasSubstr("Use all_reduce")));
  // Were its own time not counted, it would.
  auto for_nothing = kTraffic;
  for_nothing.hook_seconds = 0;
  EXPECT_TRUE(advise("hook", for_nothing, {.beta_s = 1e-10}).pays);
}

TEST(Advisor, PricesWhatAHookDid) {
  test::on_ranks(2, [](World& world) {
    const auto hook = error_feedback(top_k_hook(world, 0.01));
    EXPECT_THAT([&] { advise(*hook, Link{}); }, ThrowsMessage<Error>(HasSubstr("ask after some iterations")));
    GradientBucket bucket;
    bucket.flat = torch::sin(torch::arange(1 << 18, torch::kFloat32));
    bucket.parameters = {"all"};
    bucket.gradients = {bucket.flat};
    for (int i = 0; i < 3; ++i) hook->reduce(bucket, nullptr).wait();
    // 100 Mbit/s: 1 MiB takes 84 ms each time.
    const Link slow{.alpha_s = 1e-4, .beta_s = 8e-8, .source = "slow.toml"};
    const auto advice = advise(*hook, slow);
    EXPECT_NEAR(advice.dense_seconds, 3 * (2 * slow.alpha_s + (1 << 20) * slow.beta_s), 1e-9);
    EXPECT_NEAR(advice.sent_seconds, advice.dense_seconds / 50, advice.dense_seconds / 400);
    EXPECT_GT(advice.hook_seconds, 0);
    EXPECT_FALSE(advise(*hook, Link{.beta_s = 1e-14}).pays) << "a link that costs nothing";
  });
}

}  // namespace
}  // namespace lockstep
