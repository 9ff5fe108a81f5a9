#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <lockstep/padding.h>
#include <torch/types.h>

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

torch::Tensor tensor(const std::vector<std::int64_t>& values) { return torch::tensor(values, torch::kInt64); }

TEST(Pad, PadsToTheLongest) {
  const auto batch = Pad().apply_batch({{tensor({5, 6, 7}), torch::tensor(1)}, {tensor({8}), torch::tensor(0)}});
  EXPECT_TRUE(torch::equal(batch.data, tensor({5, 6, 7, 8, 0, 0}).reshape({2, 3})));
  EXPECT_TRUE(torch::equal(batch.target, tensor({1, 0})));
}

TEST(Pad, PadsLabelsOfTokensToo) {
  const auto batch = Pad(9).apply_batch({{tensor({5}), tensor({1})}, {tensor({8, 8}), tensor({2, 3})}});
  EXPECT_TRUE(torch::equal(batch.data, tensor({5, 9, 8, 8}).reshape({2, 2})));
  EXPECT_TRUE(torch::equal(batch.target, tensor({1, -100, 2, 3}).reshape({2, 2})));
}

TEST(Pad, KeepsFurtherDimensions) {
  const auto batch =
      Pad(-1).apply_batch({{torch::ones({1, 2}), torch::tensor(1)}, {torch::ones({3, 2}), torch::tensor(0)}});
  EXPECT_EQ(batch.data.sizes(), (std::vector<std::int64_t>{2, 3, 2}));
  EXPECT_DOUBLE_EQ(batch.data.sum().item<double>(), 2 - 4 + 6);
}

TEST(Pad, RefusesShapesThatDifferInMoreThanLength) {
  const auto padded = [](const torch::Tensor& first, const torch::Tensor& second) {
    return [first, second] { Pad().apply_batch({{first, torch::tensor(1)}, {second, torch::tensor(1)}}); };
  };
  EXPECT_THAT(
      padded(torch::ones({1, 2}), torch::ones({1, 3})),
      ThrowsMessage<Error>(HasSubstr("data of sample 1 of a batch has the shape [1, 3], that of sample 0 [1, 2]")));
  EXPECT_THAT(padded(torch::tensor(4), torch::tensor(5)), ThrowsMessage<Error>(HasSubstr("data of sample 0")));
}

TEST(PaddingMask, IsTrueWherePaddingIs) {
  const auto mask = padding_mask(tensor({3, 1}));
  EXPECT_EQ(mask.scalar_type(), torch::kBool);
  EXPECT_TRUE(torch::equal(mask.to(torch::kInt64), tensor({0, 0, 0, 0, 1, 1}).reshape({2, 3})));
}

TEST(PaddingMask, RefusesWhatAreNoLengths) {
  const auto refusal = [](const torch::Tensor& lengths) {
    try {
      padding_mask(lengths);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      return std::string(error.what());
    }
    return std::string("no Error");
  };
  EXPECT_THAT(refusal({}), HasSubstr("padding_mask was given no lengths")) << "as of a loader without any";
  EXPECT_THAT(refusal({}), HasSubstr("LoaderOptions::lengths"));
  EXPECT_THAT(refusal(torch::ones({2, 3}, torch::kInt64)), HasSubstr("of type Long and shape [2, 3]"));
  EXPECT_THAT(refusal(torch::ones({2})), HasSubstr("of type Float and shape [2]"));
  EXPECT_THAT(refusal(torch::ones({2}, torch::kBool)), HasSubstr("of type Bool and shape [2]"));
  EXPECT_THAT(refusal(tensor({})), HasSubstr("of type Long and shape [0]"));
}

}  // namespace
}  // namespace lockstep
