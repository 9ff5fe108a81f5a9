#include "group/prepared_operations.h"

#include <gtest/gtest.h>

#include <vector>

namespace lockstep::detail {

TEST(PreparedOperations, ThoseUsedLongestAgoAreForgotten) {
  const auto engine = make_lone_engine();
  Schedules schedules(Identity{}, Medium::kSharedMemory, {});
  PreparedOperations operations(*engine, schedules);
  std::vector<float> values(PreparedOperations::kMostKept + 2);
  const auto find = [&](std::size_t count) -> PreparedOperation& {
    return operations.find({.collective = Collective::kAllReduce, .buffer = buffer_of(values.data(), count)}, "auto",
                           Reduction::kFast);
  };
  for (std::size_t count = 1; count <= PreparedOperations::kMostKept; ++count) find(count);
  const PreparedOperation* const first = &find(1);
  operations.trim();
  EXPECT_EQ(operations.kept(), PreparedOperations::kMostKept) << "as many as that are kept";

  find(PreparedOperations::kMostKept + 1);
  operations.trim();
  EXPECT_LT(operations.kept(), PreparedOperations::kMostKept);
  const std::size_t kept = operations.kept();
  EXPECT_EQ(&find(1), first) << "it was used again";
  find(PreparedOperations::kMostKept + 1);
  EXPECT_EQ(operations.kept(), kept);
  find(2);
  EXPECT_EQ(operations.kept(), kept + 1) << "it had been forgotten";
}

}  // namespace lockstep::detail
