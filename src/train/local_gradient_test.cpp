#include "train/local_gradient.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::ThrowsMessage;

const std::string kName = "weight";
const GradientOf kWhose{kName, torch::kFloat32, 0, "Owner"};

TEST(LocalGradient, CountsAsOftenAsItIsTold) {
  const auto gradient = torch::full({2}, 3.0);
  EXPECT_FALSE(weighted(gradient, 1, kWhose).defined());
  EXPECT_TRUE(torch::equal(weighted(gradient, 0.5, kWhose), torch::full({2}, 1.5)));
}

TEST(LocalGradient, OfNoSamplesIsZeroWhateverWasComputed) {
  const auto infinite = torch::full({2}, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(torch::equal(weighted(infinite, 0, kWhose), torch::zeros(2)));
}

TEST(LocalGradient, IsNotZeroUnlessItIsUndefinedOrZeroed) {
  EXPECT_FALSE(is_not_zero({}));
  EXPECT_FALSE(is_not_zero(torch::zeros({2, 3})));
  EXPECT_TRUE(is_not_zero(torch::tensor({0.0, -1e-30})));
  EXPECT_TRUE(is_not_zero(torch::full({2}, std::numeric_limits<float>::quiet_NaN(), torch::kBFloat16)));
  auto sparse = torch::sparse_coo_tensor(torch::tensor({{1, 1}}), torch::ones({2, 3}), {4, 3});
  EXPECT_TRUE(is_not_zero(sparse));
  EXPECT_FALSE(is_not_zero(sparse.zero_()));
}

TEST(LocalGradient, RefusalsNameTheParameterAndWhoRefuses) {
  EXPECT_THAT([] { weighted(torch::zeros(2, torch::kFloat64), 1, kWhose); },
              ThrowsMessage<Error>(HasSubstr("'weight' changed its type after Owner was made")));
  EXPECT_THAT([] { weighted(torch::zeros(2).to_sparse(), 1, kWhose); },
              ThrowsMessage<Error>(HasSubstr("'weight' has a sparse gradient, which Owner cannot")));
}

TEST(LocalGradient, TrainableAreThoseThatRequireOneOnce) {
  const auto tensor = torch::zeros(2);
  const std::vector<ModuleTensor> tensors{
      {"a", tensor, true, ""}, {"fixed", torch::zeros(2), false, ""}, {"b", tensor, true, "a"}};
  EXPECT_THAT(trainable_of(tensors, "Owner"), SizeIs(1));
  EXPECT_THAT([] { trainable_of({}, "Owner"); }, ThrowsMessage<Error>(HasSubstr("Owner was given a model with no")));
  EXPECT_THAT(
      [] {
        trainable_of({{"wave", torch::zeros(2, torch::kComplexFloat), true, ""}}, "Owner");
      },
      ThrowsMessage<Error>(HasSubstr("'wave' of type ComplexFloat")));
}

}  // namespace
}  // namespace lockstep
