#include "train/non_finite.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <limits>

namespace lockstep {
namespace {

class NonFiniteIn : public ::testing::TestWithParam<torch::ScalarType> {};
INSTANTIATE_TEST_SUITE_P(Types, NonFiniteIn,
                         ::testing::Values(torch::kFloat32, torch::kFloat64, torch::kBFloat16, torch::kFloat16),
                         [](const auto& test) { return std::string(c10::toString(test.param)); });

TEST_P(NonFiniteIn, FindsOneAmongMany) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto values = (torch::arange(40000, torch::kFloat32) - 20000).to(GetParam());
  EXPECT_FALSE(has_non_finite(values));
  for (const double bad : {kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const std::int64_t place : {0, 20000, 39999}) {
      auto spoiled = values.clone();
      spoiled[place] = bad;
      EXPECT_TRUE(has_non_finite(spoiled)) << bad << " at " << place;
    }
  }
}

TEST_P(NonFiniteIn, LargestAndSmallestNumbersAreFinite) {
  const double largest = GetParam() == torch::kFloat32   ? std::numeric_limits<float>::max()
                         : GetParam() == torch::kFloat64 ? std::numeric_limits<double>::max()
                         : GetParam() == torch::kBFloat16
                             ? static_cast<double>(std::numeric_limits<c10::BFloat16>::max())
                             : static_cast<double>(std::numeric_limits<c10::Half>::max());
  EXPECT_FALSE(has_non_finite(torch::tensor({largest, -largest, 0.0, -0.0, 1e-310}, torch::kFloat64).to(GetParam())));
}

TEST(NonFinite, LooksOnlyAtWhatTheTensorHas) {
  auto values = torch::zeros({4, 4});
  values[1][2] = std::numeric_limits<float>::infinity();
  EXPECT_FALSE(has_non_finite(values.select(1, 1)));
  EXPECT_TRUE(has_non_finite(values.select(1, 2)));
  EXPECT_TRUE(has_non_finite(values.t()));
  EXPECT_FALSE(has_non_finite(torch::empty({0})));
  EXPECT_FALSE(has_non_finite(torch::ones({3}, torch::kInt64)));
}

}  // namespace
}  // namespace lockstep
