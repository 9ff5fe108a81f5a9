// What a stage takes of memory is what the formula says, within 5 % and the largest block (the 16 bytes a parameter
// that it takes at stage 0): by a count of allocations, and by the kernel.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/processes/command.h"
#include "tests/train/values_after.h"

namespace lockstep {
namespace {

using testing_support::Command;
using testing_support::values_after;

double value_after(const std::string& word, const std::string& text) {
  const auto values = values_after(word, text);
  return values.size() == 1 ? values[0] : -1;
}

using Case = std::tuple<std::string, int, int>;
class ShardedMemory : public testing::TestWithParam<Case> {};
std::string case_name(const testing::TestParamInfo<Case>& test) {
  const auto& [transport, ranks, stage] = test.param;
  return transport + "_on_" + std::to_string(ranks) + "_stage_" + std::to_string(stage);
}
INSTANTIATE_TEST_SUITE_P(Over, ShardedMemory,
                         testing::Combine(testing::Values("shm", "tcp"), testing::Values(2, 4),
                                          testing::Values(0, 1, 2, 3)),
                         case_name);

TEST_P(ShardedMemory, IsWhatTheFormulaSays) {
  const auto& [transport, ranks, stage] = GetParam();
  Command command({"/usr/bin/env", "LOCKSTEP_TRANSPORT=" + transport, LOCKSTEP_PROGRAM, "run", "-n",
                   std::to_string(ranks), LOCKSTEP_SHARDED_MEMORY, std::to_string(stage)});
  ASSERT_EQ(command.wait(), 0) << command.output() << command.errors();
  const std::string lines = command.output();
  const double predicted = value_after("predicted ", lines);
  const double most = value_after("at most ", lines);
  for (const char* measured : {"counted ", "resident "}) {
    EXPECT_LE(value_after(measured, lines), most) << measured << lines;
    EXPECT_GE(value_after(measured, lines), 0.95 * predicted) << measured << lines;
  }
  if (stage < 3) return;
  const double values = 4.0 / ranks;  // no rank ever has more of the model than its pieces and one block
  EXPECT_LE(value_after("while built ", lines), value_after("allowed ", lines)) << lines;
  EXPECT_LT(value_after("allowed ", lines), 1.5 * values) << lines;
  EXPECT_GE(value_after("while built ", lines), 0.95 * values) << lines;
}

/// 192 MiB are what stage 0 takes of parameters, gradients and state; 100 are allowed. (Over TCP: what shared memory
/// will ever hold is mapped from the start.)
TEST(ShardedMemoryLimit, AModelTooLargeForStageZeroTrainsAtStageThree) {
  const auto run = [](const char* stage) {
    return std::vector<std::string>{
        "/usr/bin/env", "LOCKSTEP_TRANSPORT=tcp", LOCKSTEP_PROGRAM, "run", "-n", "4", LOCKSTEP_SHARDED_MEMORY, stage,
        "100"};
  };
  Command whole(run("0"));
  EXPECT_NE(whole.wait(), 0) << whole.output();
  EXPECT_THAT(whole.output() + whole.errors(), testing::ContainsRegex("memory"));
  Command sharded(run("3"));
  EXPECT_EQ(sharded.wait(), 0) << sharded.output() << sharded.errors();
}

}  // namespace
}  // namespace lockstep
