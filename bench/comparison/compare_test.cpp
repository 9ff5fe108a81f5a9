// The comparison as a whole, with whichever peers are built, at a few small sizes.
#include "bench/comparison/sections.h"
#include "tests/processes/command.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>

namespace lockstep::compare {

using testing::HasSubstr;
using testing_support::Command;

class Compare : public testing_support::TemporaryFolder {};

TEST_F(Compare, QuickMeasuresThosePeersThatAreThere) {
  const auto page = folder_ / "page.md";
  Command command({LOCKSTEP_COMPARE, "--quick", "--results", folder_, "--report", page});
  ASSERT_EQ(command.wait(), 0) << command.errors();
  const std::vector<SectionResult> results = load(quick_sections(), folder_);
  ASSERT_EQ(results.size(), 2U);
  EXPECT_GT(results[0].limit_gb_per_s, 0);
  for (const SectionResult& result : results) {
    EXPECT_NE(result.find("Lockstep, registered", result.cells.front().bytes), nullptr);
    for (const Cell& cell : result.cells) EXPECT_EQ(cell.wrong, 0U) << cell.subject;
  }
  EXPECT_EQ(results[0].cells.size() / 2 + results[0].silent.size(), 4U)
      << "each peer was measured, or is said not to be";
  EXPECT_THAT(read(page), HasSubstr("| 16 KiB |"));
}

TEST_F(Compare, AnUnknownSectionIsRefused) {
  Command command({LOCKSTEP_COMPARE, "--quick", "shm-3"});
  EXPECT_EQ(command.wait(), 2);
  EXPECT_EQ(command.errors(), "bench/compare: There is no section 'shm-3'; known: quick-2 quick-cold-2.\n");
}

TEST_F(Compare, AnUnknownOptionIsRefused) {
  Command command({LOCKSTEP_COMPARE, "--quickly"});
  EXPECT_EQ(command.wait(), 2);
  EXPECT_EQ(command.errors(), "bench/compare: The following argument was not expected: --quickly.\n");
}

}  // namespace lockstep::compare
