#include "train/sharded/wire_code.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

namespace lockstep {
namespace {

/// Values of three ranks, through the code and back.
torch::Tensor through(const WireCode& code, const torch::Tensor& values) {
  const auto rows = torch::zeros({values.size(0), static_cast<std::int64_t>(code.row_bytes())}, torch::kUInt8);
  for (std::int64_t r = 0; r < values.size(0); ++r) code.encode(values[r], rows[r]);
  const auto back = torch::empty({values.numel()});
  code.decode(rows, back);
  return back.view_as(values);
}

torch::Tensor values() { return torch::sin(torch::arange(3 * 80, torch::kFloat32)).view({3, 80}) * 5; }

TEST(WireCode, Bfloat16RoundsEachValue) {
  const WireCode code(GatherAs::kBfloat16, 80);
  EXPECT_EQ(code.row_bytes(), 160u);
  EXPECT_TRUE(torch::equal(through(code, values()), values().to(torch::kBFloat16).to(torch::kFloat32)));
}

TEST(WireCode, Int8IsWithinHalfAStepOfItsBlocksLargest) {
  const WireCode code(GatherAs::kInt8Blocks, 80);  // a block of 64 and one of 16
  EXPECT_EQ(code.row_bytes(), 80u + 2 * 4);
  auto numbers = values();
  numbers.narrow(1, 64, 16).mul_(1e-3);
  const auto error = (through(code, numbers) - numbers).abs();
  EXPECT_LE(error.narrow(1, 0, 64).max().item<double>(), 5.001 / 127 / 2);
  EXPECT_LE(error.narrow(1, 64, 16).max().item<double>(), 5.001e-3 / 127 / 2) << "a block of its own";
  EXPECT_GT(error.max().item<double>(), 0);
}

TEST(WireCode, ZerosStayZeros) {
  for (const GatherAs as : {GatherAs::kBfloat16, GatherAs::kInt8Blocks}) {
    EXPECT_TRUE(torch::equal(through(WireCode(as, 32), torch::zeros({2, 32})), torch::zeros({2, 32})));
  }
}

}  // namespace
}  // namespace lockstep
