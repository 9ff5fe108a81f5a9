#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/hooks.h>
#include <lockstep/one_bit_adam.h>

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
      "hook pays on this link (100 us a message, 100 MB/s, measured): what it was given so far takes 110 ms to send 10 "
      "times fewer bytes and 20.0 ms of its own, against 1.10 s without it, which is 8.5 times faster.");
}

TEST(Advisor, SaysTheTimesOfAnIterationWhereTheyWereCounted) {
  auto traffic = kTraffic;
  traffic.iterations = 10;
  const auto advice = advise("hook", traffic, {.alpha_s = 1e-4, .beta_s = 1e-8, .source = "measured"});
  EXPECT_EQ(
      advice.sentence,
      "hook pays on this link (100 us a message, 100 MB/s, measured): an iteration (mean of 10) takes 11.0 ms to send "
      "10 times fewer bytes and 2.00 ms of its own, against 110 ms without it, which is 8.5 times faster.");
  EXPECT_DOUBLE_EQ(advice.dense_seconds, 0.1 + 1) << "of all of them";
}

TEST(Advisor, CountsFastLinksInGigabytes) {
  const auto shown = [](double bandwidth) {
    return advise("hook", kTraffic, {.alpha_s = 1e-6, .beta_s = 1 / bandwidth, .source = "here"}).sentence;
  };
  EXPECT_THAT(shown(31.8e9), HasSubstr("(1 us a message, 31.8 GB/s, here)"));
  EXPECT_THAT(shown(1e9), HasSubstr(" 1 GB/s,"));
  EXPECT_THAT(shown(999.7e6), HasSubstr(" 1 GB/s,"));
  EXPECT_THAT(shown(999e6), HasSubstr(" 999 MB/s,"));
}

TEST(Advisor, SaysWhenItDoesNotPay) {
  const auto advice = advise("hook", kTraffic, {.beta_s = 1e-10, .source = "calibrated here"});
  EXPECT_FALSE(advice.pays);
  EXPECT_THAT(
      advice.sentence,
      AllOf(HasSubstr("hook does not pay on this link"), HasSubstr("calibrated here"), HasSubstr("1.00 ms to send"),
            HasSubstr("20.0 ms of its own, against 10.0 ms without it"), HasSubstr("Use all_reduce")));
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
    EXPECT_EQ(hook->traffic().iterations, 3);
    EXPECT_THAT(advice.sentence, HasSubstr("an iteration (mean of 3) takes "));
    EXPECT_FALSE(advise(*hook, Link{.beta_s = 1e-14}).pays) << "a link that costs nothing";
  });
}

TEST(Advisor, HasNothingToSayOfAGroupOfOne) {
  const auto alone = World::alone();
  const auto hook = top_k_hook(alone, 0.01);
  GradientBucket bucket;
  bucket.flat = torch::ones(8);
  bucket.gradients = {bucket.flat};
  hook->reduce(bucket, nullptr).wait();
  EXPECT_THAT([&] { advise(*hook, Link{}); }, ThrowsMessage<Error>(HasSubstr("on two ranks or more")));
}

/// Several buckets of a backward are one iteration, through hooks that wrap others too.
TEST(Advisor, CountsIterationsAndNotBuckets) {
  test::on_ranks(2, [](World& world) {
    const std::vector<BucketHookPtr> hooks{
        all_reduce_hook(world),
        error_feedback(random_k_hook(0.5, 7, cast_hook(torch::kFloat16, all_reduce_hook(world)))), int8_hook(world)};
    for (const auto& hook : hooks) {
      for (int i = 0; i < 6; ++i) {
        GradientBucket bucket;
        bucket.index = i % 3;
        bucket.flat = torch::ones(64);
        bucket.parameters = {std::to_string(bucket.index)};
        bucket.gradients = {bucket.flat};
        hook->reduce(bucket, nullptr).wait();
      }
      EXPECT_EQ(hook->traffic().iterations, 2) << hook->name();
    }
  });
}

// --- several hooks on several links ---

GradientBucket mebibyte() {
  GradientBucket bucket;
  bucket.flat = torch::sin(torch::arange(512 * 512, torch::kFloat32));
  bucket.parameters = {"matrix"};
  bucket.gradients = {bucket.flat.view({512, 512})};
  bucket.last = true;
  return bucket;
}

struct Priced {
  std::string name;
  std::function<HookTraffic(World&)> sent;  ///< on two ranks, of 1 MiB an iteration
  double seconds;  ///< that it takes of its own, given: a verdict is not to depend on the machine
};

Priced priced(const std::string& name, const std::function<BucketHookPtr(const Group&)>& make, double seconds) {
  const auto sent = [=](World& world) {
    const auto hook = make(world);
    EXPECT_EQ(hook->name(), name);
    hook->reduce(mebibyte(), nullptr).wait();
    return hook->traffic();
  };
  return {name, sent, seconds};
}

/// An iteration of its warm-up, and one of what comes after.
HookTraffic sent_by_one_bit_adam(World& world) {
  auto parameter = torch::zeros({512, 512});
  OneBitAdam optimizer(world, {parameter}, torch::optim::AdamOptions(1e-3), {.warmup = 1});
  for (int i = 0; i < 2; ++i) {
    const auto bucket = mebibyte();
    optimizer.communication_hook()(bucket).wait();
    parameter.mutable_grad() = bucket.gradients[0];
    optimizer.step();
  }
  return optimizer.traffic();
}

HookTraffic traffic_of(const Priced& hook) {
  HookTraffic traffic;
  test::on_ranks(2, [&](World& world) {
    const auto sent = hook.sent(world);
    if (world.rank() == 0) traffic = sent;
  });
  EXPECT_GT(traffic.hook_seconds, 0);
  traffic.hook_seconds = hook.seconds;
  return traffic;
}

/// Bytes cost least through memory and most at 100 Mbit/s; where messages cost all, it is their number that counts.
TEST(Advisor, SaysOfEachHookOnWhichLinksItPays) {
  const std::vector<Priced> hooks{
      priced(
          "float16(all_reduce)", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, 0.3e-3),
      priced(
          "power_sgd(2)", [](const Group& g) { return power_sgd_hook(g, 2, 7); }, 2e-3),
      {"one_bit_adam", sent_by_one_bit_adam, 2.5e-3},
      priced(
          "error_feedback(top_k(0.01))", [](const Group& g) { return error_feedback(top_k_hook(g, 0.01)); }, 4e-3),
      priced(
          "deep_gradient(0.01, momentum 0.9)", [](const Group& g) { return deep_gradient_hook(g, {.fraction = 0.01}); },
          5e-3)};
  const std::vector<std::pair<Link, std::vector<bool>>> links{
      {{.alpha_s = 2e-6, .beta_s = 1e-10, .source = "memory"}, {false, false, false, false, false}},
      {{.alpha_s = 5e-6, .beta_s = 1e-9, .source = "10 Gbit/s"}, {true, false, false, false, false}},
      {{.alpha_s = 2e-5, .beta_s = 3e-9, .source = "3 Gbit/s"}, {true, true, true, false, false}},
      {{.alpha_s = 1e-4, .beta_s = 8e-8, .source = "100 Mbit/s"}, {true, true, true, true, true}},
      {{.alpha_s = 5e-2, .beta_s = 0, .source = "a satellite"}, {false, false, false, true, true}}};
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    const HookTraffic traffic = traffic_of(hooks[i]);
    for (const auto& [link, pays] : links) {
      const auto advice = advise(hooks[i].name, traffic, link);
      EXPECT_EQ(advice.pays, pays[i]) << advice.sentence;
      EXPECT_THAT(advice.sentence,
                  HasSubstr(hooks[i].name + (pays[i] ? " pays on this link" : " does not pay on this link")));
    }
  }
}

/// Half the bytes in the quarter of values that its warm-up begins with, on two ranks; and then as many as it was told.
TEST(Advisor, PricesDeepGradientsWarmUpAsWhatItSent) {
  const Link slow{.beta_s = 8e-8, .source = "100 Mbit/s"};
  test::on_ranks(2, [&](World& world) {
    const auto hook = deep_gradient_hook(world, {.fraction = 0.0625, .warmup = 2});
    hook->reduce(mebibyte(), nullptr).wait();
    const auto first = advise(*hook, slow);
    EXPECT_NEAR(first.dense_seconds / first.sent_seconds, 2, 0.01) << first.sentence;
    hook->reduce(mebibyte(), nullptr).wait();
    const auto both = advise(*hook, slow);
    EXPECT_NEAR(first.sent_seconds / (both.sent_seconds - first.sent_seconds), 4, 0.01) << both.sentence;
  });
}

/// What the warm-up sends is in its traffic as what it saved since.
TEST(Advisor, PricesOneBitAdamsWarmUpAndWhatComesAfter) {
  test::on_ranks(2, [](World& world) {
    const auto traffic = sent_by_one_bit_adam(world);
    EXPECT_EQ(traffic.dense_bytes, 2 << 20);
    EXPECT_EQ(traffic.dense_messages, 4);
    EXPECT_EQ(traffic.iterations, 2);
    EXPECT_EQ(traffic.messages, 4) << "all-reduce is two, and so is all-to-all with all-gather";
    EXPECT_NEAR(traffic.sent_bytes - (1 << 20), (1 << 20) / 31.0, 400);
    const Link slow{.alpha_s = 1e-4, .beta_s = 8e-8, .source = "100 Mbit/s"};
    const auto advice = advise("one_bit_adam", traffic, slow);
    EXPECT_NEAR(advice.dense_seconds, 4 * slow.alpha_s + (2 << 20) * slow.beta_s, 1e-9);
    EXPECT_NEAR(advice.sent_seconds, 4 * slow.alpha_s + (1 << 20) * slow.beta_s * (1 + 1 / 31.0), 1e-4);
    EXPECT_GT(advice.hook_seconds, 0);
  });
}

}  // namespace
}  // namespace lockstep
