// A program's own hook, and chains of hooks: training through them is that of one process, and the checks that say so
// fail when a hook makes a mistake.
#include <gtest/gtest.h>
#include <lockstep/hooks.h>

#include "train/hooks/hook_base.h"
#include "train/test_parity.h"

namespace lockstep {
namespace {

/// As a program may write one: rank 0 adds up and tells the others. Counts what it was given.
class ByRankZero : public BucketHook {
 public:
  explicit ByRankZero(Group group, bool divides = true) : group_(std::move(group)), divides_(divides) {}
  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    buckets_ += 1;
    if (contribution != nullptr) *contribution = bucket.flat.clone();
    group_.reduce(buffer_of(bucket.flat), 0).wait();
    if (divides_) bucket.flat.div_(group_.size());
    return group_.broadcast(buffer_of(bucket.flat), 0);
  }
  bool exact() const override { return true; }
  std::string name() const override { return "by_rank_zero"; }
  HookTraffic traffic() const override { return {.messages = buckets_}; }

 private:
  Group group_;
  bool divides_;
  double buckets_ = 0;
};

/// A link of a chain: hands on what `before` makes of this rank's gradients, and then has `after` change the mean.
class Changing : public BucketHook {
 public:
  using Change = std::function<void(torch::Tensor& flat)>;
  Changing(BucketHookPtr next, Change before, Change after)
      : next_(std::move(next)), before_(std::move(before)), after_(std::move(after)) {}
  Pending reduce(const GradientBucket& bucket, torch::Tensor* contribution) override {
    torch::Tensor flat = bucket.flat;
    before_(flat);
    return finish_with(next_->reduce(bucket, contribution), [this, flat, contribution]() mutable {
      after_(flat);
      if (contribution != nullptr) after_(*contribution);
    });
  }
  bool exact() const override { return next_->exact(); }
  std::string name() const override { return "changing(" + next_->name() + ")"; }
  HookTraffic traffic() const override { return next_->traffic(); }

 private:
  BucketHookPtr next_;
  Change before_;
  Change after_;
};

BucketHookPtr four_times(BucketHookPtr next) {
  return std::make_shared<Changing>(
      std::move(next), [](torch::Tensor& flat) { flat.mul_(4); }, [](torch::Tensor& flat) { flat.div_(4); });
}

/// A mistake: the last rank's gradients are lost on the way.
BucketHookPtr losing_the_last(const Group& group, BucketHookPtr next) {
  const bool is_last = group.rank() == group.size() - 1;
  return std::make_shared<Changing>(
      std::move(next),
      [is_last](torch::Tensor& flat) {
        if (is_last) flat.zero_();
      },
      [](torch::Tensor&) {});
}

using Make = std::function<BucketHookPtr(const Group&)>;

test::Parity parity_through(const Make& make, int ranks) {
  const auto train = [](const test::Side& side) {
    const auto net = test::make_net(side.seed);
    const auto replica = side.replicate(*net);
    return test::train_small_net(*net, side.group);
  };
  return test::parity_of(train, ranks, {.first_bucket_bytes = 256, .bucket_bytes = 1024},
                         [&](const Group& group) { return use(make(group)); });
}

struct Chain {
  const char* name;
  Make make;
  double tolerance;
};
void PrintTo(const Chain& chain, std::ostream* out) { *out << chain.name; }

constexpr double kHalfTolerance = 1e-2;  // 16-bit gradients are rounded before the mean or after it

std::vector<Chain> chains() {
  const auto exactly = test::kParityTolerance;
  return {{"AllReduce", [](const Group& g) { return all_reduce_hook(g); }, exactly},
          {"Own", [](const Group& g) { return std::make_shared<ByRankZero>(g); }, exactly},
          {"OwnAroundAllReduce", [](const Group& g) { return four_times(all_reduce_hook(g)); }, exactly},
          {"OwnAroundOwnAroundOwn",
           [](const Group& g) { return four_times(four_times(std::make_shared<ByRankZero>(g))); }, exactly},
          {"ErrorFeedbackAroundOwn",
           [](const Group& g) { return error_feedback(four_times(std::make_shared<ByRankZero>(g))); }, exactly},
          {"EverythingSent", [](const Group& g) { return error_feedback(top_k_hook(g, 1)); }, exactly},
          {"Float16", [](const Group& g) { return cast_hook(torch::kFloat16, all_reduce_hook(g)); }, kHalfTolerance},
          {"ErrorFeedbackAroundBfloat16AroundOwn",
           [](const Group& g) { return error_feedback(cast_hook(torch::kBFloat16, four_times(all_reduce_hook(g)))); },
           kHalfTolerance}};
}

class HookChains : public ::testing::TestWithParam<Chain> {};
INSTANTIATE_TEST_SUITE_P(All, HookChains, ::testing::ValuesIn(chains()),
                         [](const auto& test) { return test.param.name; });

TEST_P(HookChains, TrainAsOneProcessOnAnyNumberOfRanks) {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto result = parity_through(GetParam().make, ranks);
    EXPECT_LE(result.difference, GetParam().tolerance) << ranks << " ranks";
    EXPECT_TRUE(result.bits_equal) << ranks << " ranks";
  }
}

TEST_P(HookChains, ParityFailsWhenARanksGradientsAreLost) {
  const Make losing = [](const Group& group) { return losing_the_last(group, GetParam().make(group)); };
  EXPECT_GT(parity_through(losing, 3).difference, 10 * kHalfTolerance);
}

TEST(HookChain, ParityFailsWhenAHookSumsOrForgetsItsHalf) {
  const Make sums = [](const Group& group) { return std::make_shared<ByRankZero>(group, /*divides=*/false); };
  EXPECT_GT(parity_through(sums, 3).difference, 10 * kHalfTolerance);
  const Make forgets = [](const Group& group) {
    return std::make_shared<Changing>(
        all_reduce_hook(group), [](torch::Tensor& flat) { flat.mul_(4); }, [](torch::Tensor&) {});
  };
  EXPECT_GT(parity_through(forgets, 3).difference, 10 * kHalfTolerance);
}

TEST(HookChain, IsAskedOfItsEnd) {
  const auto world = World::alone();
  const auto own = std::make_shared<ByRankZero>(world);
  const auto chain = error_feedback(four_times(own));
  EXPECT_TRUE(chain->exact());
  EXPECT_FALSE(error_feedback(four_times(cast_hook(torch::kFloat16, own)))->exact());
  EXPECT_EQ(chain->name(), "error_feedback(changing(by_rank_zero))");
  GradientBucket bucket;
  bucket.flat = torch::ones({8});
  bucket.parameters = {"w"};
  bucket.gradients = {bucket.flat};
  for (int i = 0; i < 3; ++i) chain->reduce(bucket, nullptr).wait();
  EXPECT_EQ(chain->traffic().messages, 3) << "one object, with its state";
}

}  // namespace
}  // namespace lockstep
