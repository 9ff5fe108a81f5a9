// Each rule finds what breaks it, and passes what does not.
#include "tests/style/rules.h"

#include <gmock/gmock.h>

namespace lockstep::style {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Rules, AnIncludeMayPointDownOnly) {
  const LayerArrows arrows = {{"base", {}}, {"runtime", {"base"}}};
  EXPECT_THAT(
      wrong_includes({{"src/runtime/a.cpp", {R"(#include "base/clock.h")", R"(#include "runtime/b.h")"}}}, arrows),
      IsEmpty());
  EXPECT_THAT(wrong_includes({{"src/base/a.h", {"", R"(#include "runtime/b.h")"}}}, arrows),
              ElementsAre("src/base/a.h:2: the layer base may not include runtime"));
  EXPECT_THAT(wrong_includes({{"src/shop/a.h", {R"(#include "base/b.h")"}}}, arrows),
              ElementsAre("src/shop/a.h:1: the layer shop is not in the list of arrows"));
  EXPECT_THAT(wrong_includes({{"tests/x.cpp", {R"(#include "runtime/b.h")"}}}, arrows), IsEmpty());
}

TEST(Rules, TorchStaysInItsLayersAndHeaders) {
  const std::vector<std::string> lines = {"#include <torch/torch.h>"};
  EXPECT_THAT(torch_includes({{"src/train/a.h", lines}, {"include/lockstep/train.h", lines}}, {"train"},
                             {"include/lockstep/train.h"}),
              IsEmpty());
  EXPECT_THAT(torch_includes({{"src/group/a.h", lines}, {"include/lockstep/group.h", {"#include <c10/util/Half.h>"}}},
                             {"train"}, {"include/lockstep/train.h"}),
              ElementsAre("src/group/a.h:1: libtorch stays above lockstep::comm",
                          "include/lockstep/group.h:1: libtorch stays above lockstep::comm"));
}

TEST(Rules, AlgorithmsAreFoundAsWholeWords) {
  const std::set<std::string> names = {"ring", "tree"};
  EXPECT_THAT(named_algorithms({{"a.cpp", {"std::string text = spring(street);"}}}, names), IsEmpty());
  EXPECT_THAT(named_algorithms({{"a.cpp", {"if (name == \"ring\")"}}, {"b.cpp", {"", "// as a tree does"}}}, names),
              ElementsAre("a.cpp:1: names the algorithm 'ring'", "b.cpp:2: names the algorithm 'tree'"));
}

TEST(Rules, AFileHasALength) {
  EXPECT_THAT(long_files({{"a.cpp", {"1", "2"}}}, 2), IsEmpty());
  EXPECT_THAT(long_files({{"a.cpp", {"1", "2", "3"}}}, 2), ElementsAre("a.cpp: 3 lines, of at most 2"));
}

TEST(Rules, MarksOfUnfinishedWorkAreFound) {
  EXPECT_THAT(unfinished_marks({{"a.cpp", {"int todo_count;", "methods"}}}), IsEmpty());
  EXPECT_THAT(unfinished_marks({{"a.cpp",
                                 {"// TO"
                                  "DO: later"}},
                                {"b.cpp",
                                 {"// FIX"
                                  "ME"}}}),
              ElementsAre("a.cpp:1: TO"
                          "DO",
                          "b.cpp:1: FIX"
                          "ME"));
}

TEST(Rules, ASourceHasATestOrAReason) {
  const std::vector<SourceFile> files = {{"src/base/a.cpp", {}}, {"src/base/a_test.cpp", {}}, {"src/base/b.cpp", {}}};
  EXPECT_THAT(untested_sources(files, {{"src/base/b.cpp", "three calls of a"}}), IsEmpty());
  EXPECT_THAT(untested_sources(files, {{"src/base/", "tested elsewhere"}}), IsEmpty());
  EXPECT_THAT(untested_sources(files, {}), ElementsAre("src/base/b.cpp: has no src/base/b_test.cpp"));
  EXPECT_THAT(untested_sources(files, {{"src/base/a.cpp", "why"}, {"src/base/b.cpp", ""}, {"src/base/c.cpp", "gone"}}),
              ElementsAre("src/base/a.cpp: is listed as untested, but is tested or not there",
                          "src/base/c.cpp: is listed as untested, but is tested or not there",
                          "src/base/b.cpp: is listed as untested with no reason"));
}

}  // namespace
}  // namespace lockstep::style
