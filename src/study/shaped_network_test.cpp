// Makes real namespaces; skipped, with the reason, where this user may not.
#include "study/shaped_network.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

namespace lockstep::study {

using testing::HasSubstr;

namespace {

constexpr double kRate = 125e6;

/// Runs a shell script as that rank.
ChildResult as_rank(Children& children, const ShapedNetwork& network, int rank, const std::string& script) {
  return children.run({network.as_rank({"/bin/sh", "-c", script}), {"RANK=" + std::to_string(rank)}});
}

}  // namespace

class ShapedNetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    try {
      network_ = std::make_unique<ShapedNetwork>(2, kRate, children_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      EXPECT_THAT(error.what(), HasSubstr("A shaped link cannot be made here: "));
      GTEST_SKIP() << error.what();
    }
  }
  Children children_;
  std::unique_ptr<ShapedNetwork> network_;
};

TEST_F(ShapedNetworkTest, GivesEachRankACardOfThatRate) {
  EXPECT_EQ(network_->ranks(), 2);
  for (const int rank : {0, 1}) {
    const ChildResult shown = as_rank(children_, *network_, rank, "ip -o -4 addr show eth0; tc qdisc show dev eth0");
    EXPECT_THAT(shown.output, HasSubstr(rank == 0 ? "10.77.0.1/16" : "10.77.0.2/16"));
    EXPECT_THAT(shown.output, HasSubstr("tbf"));
    EXPECT_THAT(shown.output, HasSubstr("rate 1Gbit"));
  }
  const ChildResult told = as_rank(children_, *network_, 1, "echo $LOCKSTEP_TRANSPORT $MASTER_ADDR");
  EXPECT_EQ(told.output, "tcp 10.77.0.1\n");
}

TEST_F(ShapedNetworkTest, NeighboursMayShareACardAndAHost) {
  const ShapedNetwork shared(5, kRate, children_, 2);
  EXPECT_EQ(shared.ranks(), 5);
  const auto placed = [&](int rank) {
    return as_rank(children_, shared, rank, "echo $LOCKSTEP_HOST; readlink /proc/self/ns/net").output;
  };
  EXPECT_EQ(placed(0), placed(1));
  EXPECT_EQ(placed(2), placed(3));
  EXPECT_NE(placed(1), placed(2));
  EXPECT_THAT(placed(4), testing::StartsWith("card2\n")) << "the last has what is left";
}

TEST_F(ShapedNetworkTest, LeavesNothingBehind) {
  const auto inode = [&](int rank) { return as_rank(children_, *network_, rank, "readlink /proc/self/ns/net").output; };
  const std::string first = inode(0), second = inode(1);
  EXPECT_NE(first, second);
  network_.reset();
  const ChildResult left = children_.run({{"/bin/sh", "-c", "ls -l /proc/[0-9]*/ns/net /proc/[0-9]*/fd 2>/dev/null"}});
  EXPECT_THAT(left.output, testing::Not(HasSubstr(first.substr(0, first.find('\n')))));
}

TEST(ShapedNetworkWithoutPrograms, SaysWhatIsMissing) {
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  Children children;
  try {
    const ShapedNetwork network(2, kRate, children);
    ADD_FAILURE() << "was made without its programs";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_THAT(error.what(), HasSubstr("there is no program ip"));
  }
  ::setenv("PATH", path.c_str(), 1);
}

}  // namespace lockstep::study
