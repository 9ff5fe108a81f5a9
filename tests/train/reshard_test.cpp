// The example whose sharded training goes on at other stages and on other numbers of ranks, as users start it, and
// what others read of its model.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing::HasSubstr;
using testing_support::Command;
using testing_support::values_after;

/// Prints name and shape of each tensor, and the sum of the squares of all.
constexpr const char* kReadAll = R"(
import sys
from safetensors.numpy import load_file
tensors = sorted(load_file(sys.argv[1]).items())
for name, tensor in tensors:
    print(name, tensor.dtype, list(tensor.shape))
print('squares', sum(float((tensor.astype('float64') ** 2).sum()) for _, tensor in tensors))
)";

class Reshard : public testing_support::TemporaryFolder {
 protected:
  std::string output_of(const std::string& folder, int ranks, int stage, int iterations) const {
    Command run({LOCKSTEP_PROGRAM, "run", "-n", std::to_string(ranks), LOCKSTEP_EXAMPLES "reshard",
                 (folder_ / folder).string(), std::to_string(stage), std::to_string(iterations)});
    EXPECT_EQ(run.wait(), 0) << run.output() << run.errors();
    return run.output();
  }
  static double squares(const std::string& output) {
    const auto values = values_after("squares ", output);
    EXPECT_EQ(values.size(), 1u) << output;
    return values.empty() ? 0 : values.front();
  }
};

TEST_F(Reshard, GoesOnAtAnyStageAndNumberOfRanks) {
  const double alone = squares(output_of("alone", 1, 0, 80));
  output_of("parts", 3, 3, 20);
  EXPECT_THAT(output_of("parts", 2, 1, 40), HasSubstr("from iteration 20 at stage 1 on 2 ranks"));
  EXPECT_THAT(output_of("parts", 4, 2, 60), HasSubstr("from iteration 40 at stage 2 on 4 ranks"));
  EXPECT_NEAR(squares(output_of("parts", 2, 3, 80)), alone, 1e-4 * alone);
}

TEST_F(Reshard, HasNothingToDoWhereTheIterationsAreReached) {
  EXPECT_THAT(output_of("out", 2, 3, 0), HasSubstr("nothing to do: there are 0 iterations already"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out" / "model.safetensors"));
  output_of("out", 2, 3, 20);
  EXPECT_EQ(output_of("out", 1, 1, 20), "[rank 0] nothing to do: there are 20 iterations already\n");
}

TEST_F(Reshard, OnAsManyRanksAtTheSameStageItEndsWithTheSameBits) {
  const std::string whole = output_of("whole", 2, 3, 40);
  output_of("halves", 2, 3, 20);
  EXPECT_EQ(squares(output_of("halves", 2, 3, 40)), squares(whole));
}

TEST_F(Reshard, PythonOpensTheModelOfThreeRanks) {
  if (!testing_support::python_has("safetensors.numpy")) {
    GTEST_SKIP() << "LOCKSTEP_PYTHON (or python3) has no packages safetensors and numpy";
  }
  const double expected = squares(output_of("out", 3, 3, 20));
  Command python({testing_support::python(), "-c", kReadAll, (folder_ / "out" / "model.safetensors").string()});
  ASSERT_EQ(python.wait(), 0) << python.errors();
  EXPECT_THAT(python.output(), HasSubstr("0.bias float32 [64]\n0.weight float32 [64, 2]\n2.bias float32 [64]\n"
                                         "2.weight float32 [64, 64]\n4.bias float32 [2]\n4.weight float32 [2, 64]\n"));
  EXPECT_NEAR(squares(python.output()), expected, 1e-12 * expected);
}

}  // namespace
}  // namespace lockstep
