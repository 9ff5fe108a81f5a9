// A rank that is killed, or fails, while the ranks of a group become groups of their own: what the others are told, and
// that nobody waits for it.
#include "base/environment.h"
#include "base/limit_for_tests.h"
#include "group/engine_for_tests.h"
#include "tests/conformance/forked_ranks.h"
#include "tests/conformance/shared_array.h"
#include "tests/conformance/worlds.h"
#include "transport/tcp/hmac.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::conformance {

namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kJoinLimit = "20s";
constexpr double kHalfOfJoinLimit = 10;

/// Does something before it joins, once it has met in the group that it is of: at once, or so many groups further down.
class EngineThatMeets final : public detail::WrappedEngine {
 public:
  EngineThatMeets(std::unique_ptr<detail::Engine> inner, int groups_before, std::function<void()> act)
      : WrappedEngine(std::move(inner)), groups_before_(groups_before), act_(std::move(act)) {}
  std::unique_ptr<Engine> join(const lockstep::Meeting& meeting) override {
    if (groups_before_ == 0) act_();
    return std::make_unique<EngineThatMeets>(WrappedEngine::join(meeting), groups_before_ - 1, act_);
  }

 private:
  int groups_before_;
  std::function<void()> act_;
};

/// Who hears of it while it still waits for what all say before they join is told of that, as of any operation.
auto says_that_it_split(const std::string& who) {
  return ContainsRegex("^" + who + ": (split|all_gather #[0-9]+, to split the group): ");
}

/// What a rank is told.
struct Told {
  ErrorCode code;
  int peer;
  double seconds;  ///< after which it was told
  std::array<char, 600> text;
};

struct Way {
  Medium medium;
  int key;  ///< of each rank, times its number: who fails is the last of the new group, or the first
};

/// So many ranks do `work`, and `act` befalls the last of them before it joins.
class Failures : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    if (GetParam().medium == Medium::kTcp && !tcp::hmac_is_built_in()) GTEST_SKIP() << "built without OpenSSL";
  }

  void run(int ranks, int groups_before, const std::function<void()>& act,
           const std::function<void(const World&)>& work) {
    const Meeting meeting(GetParam().medium, ranks);
    ForkedRanks processes(ranks, [&](int rank) {
      ::setenv(kJoinTimeoutVariable, join_limit_, 1);
      const auto befalls = rank == ranks - 1 ? act : [] {};
      return run_rank(std::make_unique<EngineThatMeets>(meeting.engine(rank), groups_before, befalls),
                      [&](Member& member) { note(member.world, work); });
    });
    for (int rank = 0; rank < ranks - 1; ++rank) exit_codes_.push_back(processes.wait(rank));
    if (last_ends_) exit_codes_.push_back(processes.wait(ranks - 1));
  }

  const Told& told(int rank) const { return told_[static_cast<std::size_t>(rank)]; }

  /// On all but the last of so many ranks, soon.
  void expect_told_of_the_last(int ranks, ErrorCode code, const std::string& what) const {
    for (int rank = 0; rank < ranks - 1; ++rank) {
      EXPECT_EQ(exit_codes_[static_cast<std::size_t>(rank)], 0);
      EXPECT_EQ(told(rank).code, code) << told(rank).text.data();
      EXPECT_EQ(told(rank).peer, ranks - 1) << told(rank).text.data();
      EXPECT_THAT(told(rank).text.data(), AllOf(says_that_it_split(fmt::format("Rank {}", rank)), HasSubstr(what)));
      EXPECT_LT(told(rank).seconds, kHalfOfJoinLimit);
    }
  }

  const char* join_limit_ = kJoinLimit;
  bool last_ends_ = true;
  std::vector<int> exit_codes_;

 private:
  void note(const World& world, const std::function<void(const World&)>& work) const {
    const auto begin = std::chrono::steady_clock::now();
    try {
      work(world);
      ADD_FAILURE() << "they met";
    } catch (const Error& error) {
      Told& told = told_[static_cast<std::size_t>(world.rank())];
      told.code = error.code();
      told.peer = error.peer();
      told.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
      std::strncpy(told.text.data(), error.what(), told.text.size() - 1);
    }
  }

  SharedArray<Told> told_{4};
};

std::ostream& operator<<(std::ostream& out, const Way& way) {
  return out << (way.medium == Medium::kTcp ? "tcp" : "shm") << (way.key > 0 ? "_last" : "_first");
}

INSTANTIATE_TEST_SUITE_P(On, Failures,
                         testing::Values(Way{Medium::kSharedMemory, 1}, Way{Medium::kSharedMemory, -1},
                                         Way{Medium::kTcp, 1}, Way{Medium::kTcp, -1}),
                         testing::PrintToStringParamName());

}  // namespace

TEST_P(Failures, ARankThatIsKilledIsNamedAndNotWaitedFor) {
  run(
      3, 0, [] { std::raise(SIGKILL); },
      [&](const World& world) { (void)world.split(0, GetParam().key * world.rank()); });
  EXPECT_EQ(exit_codes_[2], 1000 + SIGKILL);
  expect_told_of_the_last(3, ErrorCode::kPeerDied, "rank 2 died");
}

TEST_P(Failures, ARankWithNoDescriptorLeftTellsTheOthers) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  std::optional<testing_support::Limit> descriptors;
  run(
      3, 0, [&] { descriptors.emplace(RLIMIT_NOFILE, 3); },
      [&](const World& world) { (void)world.split(0, GetParam().key * world.rank()); });
  expect_told_of_the_last(3, ErrorCode::kTransport, "Rank 2 could not join the others: ");
  EXPECT_THAT(told(0).text.data(), HasSubstr("Too many open files"));
  EXPECT_THAT(told(2).text.data(), AllOf(StartsWith("Rank 2: split: "), HasSubstr("Too many open files")));
}

TEST_P(Failures, ARankThatIsStoppedIsNamedAtTheDeadline) {
  join_limit_ = "1s";
  last_ends_ = false;
  run(
      3, 0, [] { std::raise(SIGSTOP); },
      [&](const World& world) { (void)world.split(0, GetParam().key * world.rank()); });
  expect_told_of_the_last(3, ErrorCode::kTimeout, "rank 2");
}

/// By its number in the group that is split, whose ranks in the world are said, as in any other error of that group.
TEST_P(Failures, InAPartOfTheWorldTheGroupIsSaid) {
  run(
      4, 1, [] { std::raise(SIGKILL); },
      [&](const World& world) {
        const Group half = world.split(world.rank() % 2);
        (void)half.split(world.rank() % 2 == 1 ? 0 : half.rank(), GetParam().key * half.rank());
        world.barrier().wait();
      });
  EXPECT_THAT(told(1).text.data(),
              AllOf(says_that_it_split("Rank 0 of the group of the world's ranks 1, 3"), HasSubstr("rank 1 died")));
  EXPECT_EQ(told(1).peer, 1);
  EXPECT_LT(told(1).seconds, kHalfOfJoinLimit);
}

}  // namespace lockstep::conformance
