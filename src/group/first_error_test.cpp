#include "group/first_error.h"

#include "group/engine_for_tests.h"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace lockstep::detail {

namespace {

/// What a rank's peers are told of its end.
class HearingEngine final : public WrappedEngine {
 public:
  HearingEngine() : WrappedEngine(make_lone_engine()) {}
  void fail(const Error& error) noexcept override { told.emplace_back(error.what()); }

  std::vector<std::string> told;
};

struct Failing {
  Identity identity{.rank = 2, .size = 3, .world_ranks = {0, 4, 6}};
  HearingEngine engine;
  FirstError first_error{identity, engine};

  /// What whoever called is told, where `thrown` ended the group.
  template <class Thrown, class ToPeers, class ToCaller>
  std::string fail(const Thrown& thrown, const ToPeers& to_peers, const ToCaller& to_caller) {
    try {
      try {
        throw thrown;
      } catch (const std::exception& caught) {
        first_error.fail(caught, to_peers, to_caller);
      }
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  }
  /// What each further call throws.
  std::string again() const {
    try {
      first_error.throw_if_there();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "nothing";
  }
};

const auto as_it_is = [](const Error& error) { return error; };
const auto louder = [](const Error& error) {
  return Error(error.code(), std::string(error.what()) + "!", error.context());
};
const auto too_long_to_say = [](const Error&) -> Error { throw std::bad_alloc(); };

using Told = std::vector<std::string>;

}  // namespace

TEST(FirstError, PeersAndCallerAreToldEachInTheirWords) {
  Failing rank;
  EXPECT_FALSE(rank.first_error.is_there());
  EXPECT_EQ(rank.again(), "nothing");
  const Error thrown(ErrorCode::kPeerDied, "rank 1 died", {.peer = 1});
  EXPECT_EQ(rank.fail(thrown, as_it_is, louder), "rank 1 died!");
  EXPECT_TRUE(rank.first_error.is_there());
  EXPECT_EQ(rank.again(), "rank 1 died!");
  EXPECT_EQ(rank.engine.told, Told{"rank 1 died"});
}

TEST(FirstError, WhatIsNoErrorIsSaidToBeThisRanks) {
  Failing rank;
  EXPECT_EQ(rank.fail(std::runtime_error("no such cloud"), as_it_is, louder), "rank 2 threw: no such cloud!");
  Failing other;
  EXPECT_EQ(other.fail(std::bad_alloc(), as_it_is, louder), "rank 2 ran out of memory!");
}

TEST(FirstError, IsToldAndKeptThoughThereIsNoMemoryForWords) {
  const Error thrown(ErrorCode::kPeerDied, "rank 1 died", {.peer = 1});
  Failing mute;
  EXPECT_EQ(mute.fail(thrown, too_long_to_say, louder), "rank 1 died");
  EXPECT_EQ(mute.again(), "rank 1 died");
  EXPECT_EQ(mute.engine.told, Told{"rank 2 ran out of memory"});

  Failing half;  // the peers have heard already, and are not told twice
  EXPECT_EQ(half.fail(std::runtime_error("no such cloud"), as_it_is, too_long_to_say), "rank 2 ran out of memory");
  EXPECT_EQ(half.again(), "rank 2 ran out of memory");
  EXPECT_EQ(half.engine.told, Told{"rank 2 threw: no such cloud"});
}

TEST(FirstError, WhoLeavesSaysWhy) {
  Failing rank;
  rank.first_error.leave("it had enough");
  EXPECT_EQ(rank.engine.told, Told{"rank 2 left the group: it had enough"});
  EXPECT_EQ(rank.again(), "Rank 2 of the group of the world's ranks 0, 4, 6: rank 2 left the group: it had enough.");
}

TEST(FirstError, IsTheFirstForWhoeverLeavesAfterwards) {
  Failing rank;
  rank.fail(Error(ErrorCode::kPeerDied, "rank 1 died", {.peer = 1}), as_it_is, as_it_is);
  rank.first_error.leave("it had enough");
  EXPECT_EQ(rank.again(), "rank 1 died");
}

}  // namespace lockstep::detail
