#include "group/prepared_operations.h"

#include "algorithms/catalog.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <string_view>
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

/// An announcement has room for the beginning of a long name: by that, ranks that run different ones find out.
TEST(PreparedOperations, WhatIsAnnouncedOfANameTellsItFromAllOthers) {
  std::set<std::string> names;
  std::set<std::string> announced;
  const auto add = [&](const std::string& name) {
    names.insert(name);
    announced.insert(name.substr(0, Announcement{}.algorithm.size() - 1));
  };
  const std::vector<std::string_view> parts = algorithms_for(Collective::kAllReduce);
  for (const std::string_view local : parts) {
    add(std::string(local));
    for (const std::string_view global : parts)
      add(find_algorithm(fmt::format("hierarchical:{},{}", local, global)).name);
  }
  EXPECT_GT(names.size(), parts.size() * parts.size());
  EXPECT_EQ(announced.size(), names.size());
}

}  // namespace lockstep::detail
