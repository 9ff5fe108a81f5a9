// What is made of numbers: bars, the page, its pictures.
#include "bench/comparison/report.h"
#include "base/scratch_folder.h"
#include "bench/comparison/bars.h"
#include "bench/comparison/plot.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>

namespace lockstep::compare {

namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr std::size_t kMiB = 1 << 20;

SectionResult shared(double ours_us, double open_mpi_us) {
  SectionResult result{.section = "shm-2", .limit_gb_per_s = 50};
  result.cells = {{.subject = "Lockstep, registered", .bytes = kMiB, .median_us = ours_us},
                  {.subject = "Open MPI", .bytes = kMiB, .median_us = open_mpi_us},
                  {.subject = "Gloo", .bytes = kMiB}};
  return result;
}

}  // namespace

TEST(Bars, AreMetOrNamed) {
  EXPECT_THAT(shortfalls({shared(10, 40)}), IsEmpty());
  EXPECT_THAT(shortfalls({shared(10, 39)}),
              testing::ElementsAre("2 ranks, 1 MiB: Lockstep, registered is 3.90 times as fast as Open MPI; it should "
                                   "be 4."));
}

TEST(Bars, APeerThatGaveNoAnswerIsNoBar) {
  SectionResult result = shared(10, 0);
  EXPECT_THAT(shortfalls({result}), IsEmpty());
  EXPECT_EQ(times_as_fast(result, bars_of(result).front(), kMiB), std::nullopt);
}

TEST(Bars, NobodyToBeHeldAgainstIsSaid) {
  SectionResult result = shared(10, 40);
  result.cells.pop_back();
  EXPECT_THAT(shortfalls({result}), testing::ElementsAre("shm-2: Lockstep, registered has no Gloo beside it, which is "
                                                         "not installed."));
}

TEST(Bars, WrongResultsAreSaidWhosever) {
  SectionResult result = shared(10, 40);
  result.cells[0].wrong = 3;
  result.cells[1].wrong = 1;
  EXPECT_THAT(shortfalls({result}), testing::ElementsAre("shm-2, 1 MiB: Lockstep, registered had 3 elements wrong.",
                                                         "shm-2, 1 MiB: Open MPI had 1 element wrong."));
}

TEST(Bars, OursWithoutAnAnswerFallsShort) {
  SectionResult result = shared(0, 40);
  EXPECT_THAT(shortfalls({result}), testing::ElementsAre("shm-2, 1 MiB: Lockstep, registered gave no answer."));
  result.cold = true;
  EXPECT_THAT(shortfalls({result}), testing::ElementsAre(HasSubstr("gave no answer")));
}

TEST(Bars, ColdIsHeldAgainstTheMemory) {
  SectionResult result = shared(100, 0);
  result.cold = true;
  EXPECT_NEAR(limit_us(result, kMiB), 2.0 * 2 * kMiB / 50e9 * 1e6, 1e-6);  // 2pn bytes at 50 GB/s: 84 us
  EXPECT_THAT(shortfalls({result}), IsEmpty());
  result.cells[0].median_us = 110;
  EXPECT_THAT(shortfalls({result}), testing::ElementsAre(HasSubstr("takes 1.31 times what the limit allows")));
  result.cells.push_back({.subject = kLimitSubject, .bytes = kMiB, .median_us = 100});
  EXPECT_THAT(shortfalls({result}), IsEmpty()) << "copies of the same rounds count for more than those before";
}

TEST(Bars, AShapedLineIsHeldAgainstItsRate) {
  SectionResult result{.section = "shaped-2", .tcp = true, .shaped = true};
  EXPECT_NEAR(limit_us(result, kMiB), 2.0 * kMiB / 125e6 * 1e6, 1e-6);  // both directions share the loopback
  EXPECT_NEAR(limit_bar(result), 1 / 0.9, 1e-9);
}

TEST(Sections, AreKeptWithTheCodeThatWasMeasured) {
  const ScratchFolder folder;
  SectionResult result = shared(10, 40);
  result.code = "288a633 on 2026-11-25";
  save(result, folder.path());
  const auto kept = load({{.name = "shm-2"}, {.name = "shm-4"}}, folder.path());
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept[0].code, result.code);
  EXPECT_EQ(kept[0].cells[1].median_us, 40);
}

class Report : public testing_support::TemporaryFolder {};

TEST_F(Report, ReplacesWhatStandsBetweenItsMarkersAndNothingElse) {
  const auto page = folder_ / "page.md";
  write_report({shared(10, 30)}, page);
  EXPECT_THAT(read(page), Not(HasSubstr("Measured with")));
  EXPECT_THAT(read(page), AllOf(HasSubstr("# Performance"), HasSubstr("| 1 MiB | 10 | 30 | no answer | 3 (bar 4) |"),
                                HasSubstr("it should be 4."), HasSubstr("last-level cache")));
  const std::string typed = "# Typed before\n";
  const std::string text = read(page);
  std::ofstream(page) << typed << text << "typed after\n";
  SectionResult faster = shared(10, 50);
  faster.code = "288a633 on 2026-11-25";
  write_report({faster}, page);
  EXPECT_THAT(read(page), AllOf(testing::StartsWith(typed), testing::EndsWith("typed after\n"),
                                HasSubstr("Nothing: every bar below is met."),
                                HasSubstr("Measured with 288a633 on 2026-11-25."), Not(HasSubstr("bar 4"))));
}

TEST(Plot, HasALineForEachSubject) {
  SectionResult result = shared(10, 40);
  result.cells.push_back({.subject = "Lockstep, registered", .bytes = 4 * kMiB, .median_us = 50});
  const std::string svg = plot(result, "A title");
  EXPECT_THAT(svg,
              AllOf(testing::EndsWith("</svg>\n"), HasSubstr("A title"), HasSubstr(">Open MPI</text>"),
                    HasSubstr("Lockstep, registered, 4 MiB: 50.0 us"), Not(HasSubstr("nan")), Not(HasSubstr("inf"))));
}

}  // namespace lockstep::compare
