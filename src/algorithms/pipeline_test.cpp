#include "algorithms/catalog.h"
#include "algorithms/every_request_for_tests.h"
#include "algorithms/refusal_for_tests.h"
#include "base/error_for_tests.h"
#include "schedule/proof.h"
#include "schedule/segmented.h"
#include "schedule/view.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <string>
#include <vector>

namespace lockstep {

namespace {

using testing::HasSubstr;
using testing_support::refusal;
using testing_support::refuses;

}  // namespace

TEST(PipelineByName, IsTheAlgorithmsScheduleInSegments) {
  for_each_request_on(5, [](const Algorithm& inner, const ScheduleRequest& request) {
    const Algorithm pipeline = find_algorithm("segmented:3:" + inner.name);
    EXPECT_EQ(pipeline.collectives, inner.collectives);
    Schedule expected = segmented(inner.build(request), 3);
    expected.name = pipeline.name;
    EXPECT_EQ(pipeline.build(request), expected);
  });
}

TEST(PipelineByName, IsCanonicalWhereTheAlgorithmIs) {
  for_each_request_on(6, [](const Algorithm& inner, const ScheduleRequest& request) {
    const Proof whole = prove(inner.build(request));
    const Proof cut = prove(find_algorithm("segmented:2:" + inner.name).build(request));
    ASSERT_TRUE(cut.proved());
    EXPECT_EQ(cut.canonical, whole.canonical);
    EXPECT_EQ(cut.canonical_in_16_bits, whole.canonical_in_16_bits);
  });
}

TEST(PipelineByName, TakesCompositions) {
  const std::vector<int> hosts{0, 0, 1, 1, 1};
  const Algorithm pipeline = find_algorithm("segmented:4:hierarchical:direct,ring");
  const Schedule whole = find_algorithm("hierarchical:direct,ring").build({.ranks = 5, .hosts = hosts});
  const Schedule schedule = pipeline.build({.ranks = 5, .hosts = hosts});
  EXPECT_EQ(schedule.name, "segmented:4:hierarchical:direct,ring");
  EXPECT_EQ(schedule.steps, segmented(whole, 4).steps);
  EXPECT_TRUE(prove(schedule).proved());
}

TEST(PipelineByName, ARanksOwnPartHasTheSameViewAsTheWhole) {
  const std::vector<int> hosts{0, 1, 0, 1, 1};
  for (const char* name : {"segmented:3:double_tree", "segmented:2:ring", "segmented:2:hierarchical:ring,tree"}) {
    const Algorithm pipeline = find_algorithm(name);
    const Schedule whole = pipeline.build({.ranks = 5, .hosts = hosts});
    for (int rank = 0; rank < 5; ++rank) {
      const Schedule part = pipeline.build({.ranks = 5, .only_rank = rank, .hosts = hosts});
      EXPECT_LT(transfers_of(part), transfers_of(whole));
      EXPECT_EQ(view_of(whole, rank), view_of(part, rank)) << name;
    }
  }
}

TEST(PipelineByName, HasOneNameForEachNumber) {
  EXPECT_EQ(find_algorithm("segmented:08:ring").name, "segmented:8:ring");
  EXPECT_EQ(find_algorithm("segmented:1:ring").build({.ranks = 4}).steps,
            find_algorithm("ring").build({.ranks = 4}).steps);
  EXPECT_EQ(pipeline_of("ring"), std::nullopt);
  EXPECT_FALSE(pipeline_of("segmental:8:ring"));
  ASSERT_TRUE(pipeline_of("segmented:65536:hierarchical:ring,tree"));
  EXPECT_EQ(pipeline_of("segmented:65536:hierarchical:ring,tree")->segments, 65536);
  EXPECT_EQ(pipeline_of("segmented:65536:hierarchical:ring,tree")->algorithm, "hierarchical:ring,tree");
}

TEST(PipelineByName, IsAmongTheNames) {
  EXPECT_EQ(algorithm_names().back(), "segmented:K:ALGORITHM");
  for (const char* name : {"segmented", "segmented:", "segmented:8:ring"}) EXPECT_TRUE(is_algorithm(name)) << name;
  for (const char* name : {"segment", "segmented8", "segmented.txt"}) EXPECT_FALSE(is_algorithm(name)) << name;
}

TEST(PipelineByName, RefusesWhatIsNone) {
  for (const char* name :
       {"segmented", "segmented:", "segmented:8", "segmented:8:", "segmented::ring", "segmented:double_tree"}) {
    EXPECT_EQ(refusal(name), "'segmented' takes a number of segments and an algorithm, as in: segmented:8:double_tree")
        << name;
  }
  for (const char* number : {"0", "-1", "65537", "99999999999", "many", "8x", "+8", " 8", "2.5"}) {
    EXPECT_EQ(refusal(fmt::format("segmented:{}:ring", number)),
              fmt::format("'segmented' takes a number of segments from 1 to 65536; '{}' is not one.", number));
  }
  EXPECT_EQ(refusal("segmented:8:rign"), "There is no algorithm 'rign'. Did you mean 'ring'?");
  EXPECT_THAT(refusal("segmented:8:auto"), HasSubstr("There is no algorithm 'auto'."));
  EXPECT_THAT(refusal("segmented:8:hierarchical:ring"), HasSubstr("as in: hierarchical:direct,ring"));
  EXPECT_EQ(
      refusal("segmented:2:segmented:4:ring"),
      "'segmented' cuts the chunks of an algorithm or a composition, and 'segmented:4:ring' is a pipeline itself; "
      "give one number of segments.");
  for (const char* name : {"hierarchical:segmented:4:ring,tree", "hierarchical:tree,segmented:4:ring"}) {
    EXPECT_EQ(
        refusal(name),
        "'hierarchical' composes two plain algorithms, and 'segmented:4:ring' is a pipeline; make one of the whole "
        "composition, as in: segmented:8:hierarchical:direct,ring");
  }
}

TEST(PipelineByName, DoesNoMoreThanTheAlgorithm) {
  EXPECT_THAT([] { (void)find_algorithm("segmented:8:ring").build({.collective = Collective::kAllToAll, .ranks = 3}); },
              refuses(ErrorCode::kInvalidArgument, "The algorithm 'segmented:8:ring' does no all_to_all, but"));
}

/// Before they take the memory: of chunks, of steps, of transfers, and the same on each rank where it builds its part.
TEST(PipelineByName, RefusesMoreSegmentsThanFit) {
  const auto expect_most = [](const std::string& inner, int most, const ScheduleRequest& request) {
    const std::string words = fmt::format("'{}' is cut into at most {} segments on {} ranks; {} are too many.", inner,
                                          most, request.ranks, most + 1);
    EXPECT_THAT([&] { (void)find_algorithm(fmt::format("segmented:{}:{}", most + 1, inner)).build(request); },
                refuses(ErrorCode::kInvalidArgument, words));
  };
  expect_most("direct", 16384, {.ranks = 4});
  expect_most("star", 65535, {.ranks = 2});
  expect_most("naive", 1032, {.ranks = 128});
  for (const int rank : {0, 1, 1023}) expect_most("star", 16384, {.ranks = 1024, .only_rank = rank});
  EXPECT_EQ(find_algorithm("segmented:16384:direct").build({.ranks = 4}).chunks, 65536);
  EXPECT_EQ(find_algorithm("segmented:65535:star").build({.ranks = 2}).steps.size(), 65536U);
  EXPECT_EQ(find_algorithm("segmented:65536:ring").build({.ranks = 1}).chunks, 65536);
}

}  // namespace lockstep
