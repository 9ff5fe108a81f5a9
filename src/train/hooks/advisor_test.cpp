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

// --- several hooks on several links ---

struct Priced {
  const char* name;
  std::function<BucketHookPtr(const Group&)> make;
  double seconds;  ///< that it takes of its own, given: a verdict is not to depend on the machine
};

/// What it sends of 1 MiB on two ranks.
HookTraffic traffic_of(const Priced& hook) {
  HookTraffic traffic;
  test::on_ranks(2, [&](World& world) {
    const auto made = hook.make(world);
    EXPECT_EQ(made->name(), hook.name);
    GradientBucket bucket;
    bucket.flat = torch::sin(torch::arange(512 * 512, torch::kFloat32));
    bucket.parameters = {"matrix"};
    bucket.gradients = {bucket.flat.view({512, 512})};
    bucket.last = true;
    made->reduce(bucket, nullptr).wait();
    if (world.rank() == 0) traffic = made->traffic();
  });
  EXPECT_GT(traffic.hook_seconds, 0);
  traffic.hook_seconds = hook.seconds;
  return traffic;
}

/// Bytes cost least through memory and most at 100 Mbit/s; where messages cost all, it is their number that counts.
TEST(Advisor, SaysOfEachHookOnWhichLinksItPays) {
  const std::vector<Priced> hooks{
      {"float16(all_reduce)", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, 0.3e-3},
      {"power_sgd(2)", [](const Group& g) { return power_sgd_hook(g, 2, 7); }, 2e-3},
      {"error_feedback(top_k(0.01))", [](const Group& g) { return error_feedback(top_k_hook(g, 0.01)); }, 4e-3}};
  const std::vector<std::pair<Link, std::vector<bool>>> links{
      {{.alpha_s = 2e-6, .beta_s = 1e-10, .source = "memory"}, {false, false, false}},
      {{.alpha_s = 5e-6, .beta_s = 1e-9, .source = "10 Gbit/s"}, {true, false, false}},
      {{.alpha_s = 2e-5, .beta_s = 3e-9, .source = "3 Gbit/s"}, {true, true, false}},
      {{.alpha_s = 1e-4, .beta_s = 8e-8, .source = "100 Mbit/s"}, {true, true, true}},
      {{.alpha_s = 5e-2, .beta_s = 0, .source = "a satellite"}, {false, false, true}}};
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const HookTraffic traffic = traffic_of(hooks[i]);
    for (const auto& [link, pays] : links) {
      const auto advice = advise(hooks[i].name, traffic, link);
      EXPECT_EQ(advice.pays, pays[i]) << advice.sentence;
      EXPECT_THAT(advice.sentence, HasSubstr(std::string(hooks[i].name) +
                                             (pays[i] ? " pays on this link" : " does not pay on this link")));
    }
  }
}

}  // namespace
}  // namespace lockstep
