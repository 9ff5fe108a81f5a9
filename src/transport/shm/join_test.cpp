#include "transport/shm/join.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "topology/host_id.h"
#include "transport/shm/unix_socket.h"
#include "transport/verdict.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::shm {

using std::chrono::milliseconds;
using namespace std::string_literals;

/// Ranks that join from threads of this process, by the same sockets as processes do.
class Join : public testing::Test {
 protected:
  JoinRequest request(int rank, int size, int timeout_ms = 20'000) const {
    return {.job = fmt::format("test-{}", ::getpid()), .rank = rank, .size = size, .timeout = milliseconds(timeout_ms)};
  }
  /// What each of the requests throws, in order; empty for none.
  static std::vector<std::string> errors_of(const std::vector<JoinRequest>& requests) {
    std::vector<std::string> errors(requests.size());
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < requests.size(); ++i) {
      threads.emplace_back([&, i] {
        try {
          join_processes(requests[i]);
        } catch (const Error& error) {
          errors[i] = error.what();
        }
      });
    }
    threads.clear();
    return errors;
  }

  static std::string name_of(const std::string& job) { return fmt::format("lockstep-{}-{}", ::geteuid(), job); }
  static Deadline soon() { return std::chrono::steady_clock::now() + milliseconds(20'000); }

  static std::optional<Error> thrown_by(const JoinRequest& request) {
    try {
      join_processes(request);
      return std::nullopt;
    } catch (const Error& error) {
      return error;
    }
  }

  /// What `rank` throws whose rank 0, once it was greeted, answers so and then says no more; and the greeting.
  static std::pair<std::optional<Error>, Message> with_a_leader_that(
      const JoinRequest& rank, const std::function<void(std::optional<FileDescriptor>& connection)>& answers) {
    const FileDescriptor listener = listen_on(name_of(rank.job));
    std::optional<Error> thrown;
    std::jthread thread([&] { thrown = thrown_by(rank); });
    std::optional<FileDescriptor> connection;
    while (!(connection = accept_from(listener))) std::this_thread::sleep_for(milliseconds(1));
    auto greeting = receive_message(*connection, 4096, soon());
    answers(connection);
    thread.join();
    return {std::move(thrown), std::move(greeting.value())};
  }

  /// What rank 1 of 2 says first, with its files.
  Message greeting() const {
    auto [thrown, greeting] = with_a_leader_that(request(1, 2), [](auto& connection) { connection.reset(); });
    EXPECT_EQ(thrown.value().code(), ErrorCode::kPeerDied);
    EXPECT_STREQ(thrown->what(), "Rank 0 ended while the group was being formed.");
    return std::move(greeting);
  }

  /// What rank 0 of 2 throws that is greeted so, by somebody who listens or not.
  std::optional<Error> thrown_when_greeted(const Message& greeting, bool listens = true) const {
    std::optional<Error> thrown;
    std::jthread leader([&] { thrown = thrown_by(request(0, 2)); });
    const auto stranger = connect_to(name_of(request(0, 2).job), soon());
    if (!listens) ::shutdown(stranger.value().get(), SHUT_RD);
    greet(stranger.value(), greeting);
    leader.join();
    return thrown;
  }

  static void greet(const FileDescriptor& leader, const Message& greeting) {
    std::vector<int> files;
    for (const FileDescriptor& file : greeting.files) files.push_back(file.get());
    ASSERT_EQ(send_message(leader, greeting.bytes.data(), greeting.bytes.size(), files, soon()), Sent::kAll);
  }
  /// What would come from that rank of so many.
  static void make_of(Message& greeting, std::int32_t rank, std::int32_t size) {
    std::memcpy(greeting.bytes.data() + kProtocolAt + 4, &rank, sizeof rank);
    std::memcpy(greeting.bytes.data() + kProtocolAt + 8, &size, sizeof size);
  }

  /// The smallest limit that lets this process open so many more.
  static rlim_t limit_that_leaves(int files) {
    int next = 0;
    for (; files > 0; ++next) {
      if (::fcntl(next, F_GETFD) < 0) --files;
    }
    return static_cast<rlim_t>(next);
  }

  static constexpr std::size_t kProtocolAt = 8;  ///< behind the word that says whose greeting it is
};

TEST_F(Join, EveryRankSeesEveryOthersMemory) {
  constexpr int kRanks = 4;
  std::vector<Host> hosts(kRanks);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < kRanks; ++rank) {
      threads.emplace_back(
          [&, rank] { hosts[static_cast<std::size_t>(rank)] = join_processes(request(rank, kRanks)); });
    }
  }
  for (std::size_t writer = 0; writer < kRanks; ++writer) {
    const auto memory = hosts[writer].arena->allocate(64);
    *static_cast<char*>(memory.get()) = 'a';
    const auto offset = hosts[writer].arena->offset_of(memory.get(), 64).value();
    for (const Host& reader : hosts) EXPECT_EQ(reader.memory[writer][offset], std::byte{'a'});
    hosts[writer].slots.get()[writer].signal({.sequence = 9, .steps = 0});
    for (const Host& reader : hosts) EXPECT_EQ(reader.slots.get()[writer].progress().sequence, 9U);
  }
  hosts[2].lifeline.owner_end.reset();
  EXPECT_THAT(hung_up(hosts[0].peer_lifelines), testing::ElementsAre(2));
}

TEST_F(Join, MissingRanksAreNamedToAll) {
  const auto errors = errors_of({request(0, 4, 300), request(2, 4, 300)});
  EXPECT_THAT(errors[0], testing::HasSubstr("ranks 1, 3 to join"));
  EXPECT_THAT(errors[1], testing::HasSubstr("ranks 1, 3 to join"));
  EXPECT_THAT(errors_of({request(1, 2, 50)})[0], testing::HasSubstr("waited 0.05 s for rank 0 to appear"));
}

TEST_F(Join, ManyMissingRanksAreNamedAsARange) {
  EXPECT_THAT(errors_of({request(0, 200, 50)})[0], testing::HasSubstr("waited 0.05 s for ranks 1 to 199 to join."));
}

TEST_F(Join, MoreRanksThanThisProcessCanHoldAreRefused) {
  const testing_support::Limit files(RLIMIT_NOFILE, 1000);
  for (const int rank : {0, 1}) {
    const std::string needed = rank == 0 ? "14997" : "9998";
    EXPECT_THAT(errors_of({request(rank, 5000)})[0],
                testing::HasSubstr("needs more than " + needed + " open files to join 5000 ranks and may have 1000;"));
    EXPECT_THAT(errors_of({request(rank, 99'999'999)})[0],
                testing::HasSubstr("is to join 99999999 ranks, and at most 1048576 join each other"));
  }
}

/// It hangs up as a process does that ends.
TEST_F(Join, ARankThatEndsMeanwhileIsNamedToAll) {
  std::jthread ends([&] { EXPECT_THROW(join_processes(request(2, 4, 3000)), Error); });
  std::vector<JoinRequest> others{request(0, 4), request(1, 4)};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(errors_of(others), testing::Each(testing::HasSubstr("Rank 2 ended while the group was being formed")));
  EXPECT_LT(std::chrono::steady_clock::now() - before, others.front().timeout) << "nobody waits for the fourth";
}

/// A part of a group calls its ranks as the group does, and waits no longer than the group does.
TEST_F(Join, RanksThatKnowEachOtherAreCalledByTheirNumbersThere) {
  JoinRequest leads = request(0, 2, 50);
  leads.company.names = {5, 3};
  const auto no_second = thrown_by(leads);
  EXPECT_EQ(no_second.value().rank(), 5);
  EXPECT_EQ(no_second->peer(), 3);
  EXPECT_THAT(no_second->what(), testing::HasSubstr("Rank 5 waited 0.05 s for rank 3 to join"));
  JoinRequest follows = request(1, 2, 50);
  follows.company.names = {5, 3};
  const auto no_first = thrown_by(follows);
  EXPECT_EQ(no_first.value().peer(), 5);
  EXPECT_THAT(no_first->what(), testing::HasSubstr("Rank 3 waited 0.05 s for rank 5 to appear"));
}

TEST_F(Join, WhatBefallsTheGroupEndsTheWait) {
  for (const int rank : {0, 1}) {
    JoinRequest one = request(rank, 2);
    one.company.look = [] { throw Error(ErrorCode::kPeerDied, "rank 7 died", {.peer = 7}); };
    const auto before = std::chrono::steady_clock::now();
    EXPECT_STREQ(thrown_by(one).value().what(), "rank 7 died");
    EXPECT_LT(std::chrono::steady_clock::now() - before, one.timeout / 2);
  }
}

TEST_F(Join, RanksThatDisagreeAboutTheWorldAreTold) {
  const auto sizes = errors_of({request(0, 2), request(1, 3)});
  EXPECT_THAT(sizes, testing::Each(testing::HasSubstr("Rank 1 says that the world has 3 ranks, rank 0 says 2")));
  const auto twice = errors_of({request(0, 3), request(1, 3), request(1, 3)});
  EXPECT_THAT(twice, testing::Each(testing::HasSubstr("Two processes say that they are rank 1")));
}

TEST_F(Join, AStrangerWhoSaysNothingHoldsUpNobody) {
  std::jthread leader([&] { EXPECT_NO_THROW(join_processes(request(0, 2))); });
  const auto name = fmt::format("lockstep-{}-test-{}", ::geteuid(), ::getpid());
  const auto stranger = connect_to(name, std::chrono::steady_clock::now() + milliseconds(20'000));
  ASSERT_TRUE(stranger);
  EXPECT_NO_THROW(join_processes(request(1, 2)));
}

TEST_F(Join, AStrangerWhoSpeaksNonsenseIsRefused) {
  std::string error;
  std::jthread leader([&] {
    try {
      join_processes(request(0, 2));
    } catch (const Error& thrown) {
      error = thrown.what();
    }
  });
  const auto name = fmt::format("lockstep-{}-test-{}", ::geteuid(), ::getpid());
  const auto stranger = connect_to(name, std::chrono::steady_clock::now() + milliseconds(20'000));
  send_message(*stranger, "nonsense", 8, {}, soon());
  leader.join();
  EXPECT_THAT(error, testing::HasSubstr("a greeting of 8 bytes"));
}

TEST_F(Join, ARankOfAnotherVersionIsRefused) {
  Message changed = greeting();
  const auto expect_refused = [&] {
    const auto thrown = thrown_when_greeted(changed);
    EXPECT_EQ(thrown.value().code(), ErrorCode::kMismatch);
    EXPECT_THAT(thrown->what(), testing::HasSubstr("none of this version of Lockstep; start all ranks from one build"));
  };
  for (const std::size_t at : {std::size_t{0}, kProtocolAt}) {
    changed.bytes[at] ^= std::byte{0x40};
    expect_refused();
    changed.bytes[at] ^= std::byte{0x40};
  }
  changed.files.pop_back();
  expect_refused();
}

TEST_F(Join, ARankThatThereIsNotIsRefused) {
  Message changed = greeting();
  for (const int rank : {-1, 0, 2}) {
    make_of(changed, rank, 2);
    const auto thrown = thrown_when_greeted(changed);
    EXPECT_EQ(thrown.value().code(), ErrorCode::kMismatch);
    EXPECT_THAT(thrown->what(), testing::HasSubstr(fmt::format("they are rank {}.", rank)));
  }
}

TEST_F(Join, ARankOfAnotherMachineIsToldWhatReachesIt) {
  Message changed = greeting();
  const std::string id = boot_id();
  const auto same = [](std::byte one, char other) { return one == static_cast<std::byte>(other); };
  const auto found = std::search(changed.bytes.begin(), changed.bytes.end(), id.begin(), id.end(), same);
  ASSERT_NE(found, changed.bytes.end());
  *found = std::byte{'x'};
  const auto thrown = thrown_when_greeted(changed);
  EXPECT_EQ(thrown.value().code(), ErrorCode::kUnsupported);
  EXPECT_EQ(thrown->peer(), 1);
  EXPECT_THAT(thrown->what(), testing::AllOf(testing::HasSubstr("Rank 1 runs on another machine than rank 0"),
                                             testing::HasSubstr("set LOCKSTEP_TRANSPORT to tcp")));
}

TEST_F(Join, ARankThatIsGoneBeforeItIsAnsweredIsNamed) {
  const auto thrown = thrown_when_greeted(greeting(), /*listens=*/false);
  EXPECT_EQ(thrown.value().code(), ErrorCode::kPeerDied);
  EXPECT_EQ(thrown->peer(), 1);
  EXPECT_STREQ(thrown->what(), "Rank 1 ended while the group was being formed.");
}

TEST_F(Join, WhoWasIntroducedSeesOnTheBoardWhyRankZeroGaveUp) {
  Message third = greeting();
  make_of(third, 2, 3);
  std::optional<Error> thrown;
  std::jthread leader([&] { thrown = thrown_by(request(0, 3)); });
  Host host;
  std::jthread second([&] { host = join_processes(request(1, 3)); });
  const auto stranger = connect_to(name_of(request(0, 3).job), soon());
  ::shutdown(stranger.value().get(), SHUT_RD);
  greet(*stranger, third);
  leader.join();
  second.join();
  EXPECT_EQ(thrown.value().code(), ErrorCode::kPeerDied);
  ASSERT_TRUE(host.slots);
  ASSERT_EQ(host.slots->state(), RankState::kFailed);
  EXPECT_STREQ(host.slots->failure_of(0).what(), "Rank 2 ended while the group was being formed.");
}

TEST_F(Join, ARankZeroThatHasNoDescriptorLeftIsQuotedToAll) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const Message greets = greeting();
  const std::string copying = "Copying a descriptor (fcntl) failed: Too many open files.";
  for (const auto& [left, what] : {std::pair{0, "Making shared memory (memfd_create) failed: Too many open files."s},
                                   {1, copying},
                                   {2, copying}}) {
    std::atomic<int> looks{0};
    JoinRequest leads = request(0, 2);
    leads.company.look = [&] { ++looks; };
    std::optional<Error> thrown;
    std::jthread leader([&] { thrown = thrown_by(leads); });
    const auto stranger = connect_to(name_of(leads.job), soon());
    ASSERT_TRUE(stranger);
    // It looks, takes who has come, and looks again.
    for (const int before = looks; looks < before + 2;) std::this_thread::sleep_for(milliseconds(1));
    {
      const testing_support::Limit descriptors(RLIMIT_NOFILE,
                                               limit_that_leaves(static_cast<int>(greets.files.size()) + left));
      greet(*stranger, greets);
      leader.join();
    }
    EXPECT_EQ(thrown.value().code(), ErrorCode::kTransport);
    EXPECT_EQ(thrown->what(), what);
    const auto answer = receive_message(*stranger, sizeof(Verdict), soon());
    ASSERT_EQ(answer.value().bytes.size(), sizeof(Verdict));
    Verdict verdict;
    std::memcpy(&verdict, answer->bytes.data(), sizeof verdict);
    EXPECT_THAT([&] { verdict.require_accepted(1); },
                testing_support::refuses(ErrorCode::kTransport, "Rank 0 could not join the others: " + what));
  }
}

/// Of so many there is no room for all that rank 1 is told.
TEST_F(Join, ARankThatTakesNothingIsNotWaitedForForEver) {
  constexpr int kRanks = 500;
  const testing_support::Limit files(RLIMIT_NOFILE, 5 * kRanks);
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur < 5 * kRanks) GTEST_SKIP() << "this process may not have so many files open";
  Message greets = greeting();
  std::optional<Error> thrown;
  std::jthread leader([&] { thrown = thrown_by(request(0, kRanks, 3000)); });
  std::vector<FileDescriptor> strangers;
  for (int rank = 1; rank < kRanks; ++rank) {
    auto stranger = connect_to(name_of(request(0, kRanks).job), soon());
    ASSERT_TRUE(stranger);
    make_of(greets, rank, kRanks);
    greet(*stranger, greets);
    strangers.push_back(std::move(*stranger));
  }
  leader.join();
  EXPECT_EQ(thrown.value().code(), ErrorCode::kTimeout);
  EXPECT_EQ(thrown->peer(), 1);
  EXPECT_THAT(thrown->what(), testing::HasSubstr("Rank 0 waited 3 s for rank 1 to hear of the others. Is it running"));
}

TEST_F(Join, ARankZeroThatGivesUpLateIsQuoted) {
  const auto thrown = with_a_leader_that(request(1, 3), [](auto& connection) {
                        const Verdict yes = Verdict::yes();
                        const Verdict no = Verdict::no({ErrorCode::kIo, "Rank 0 lost its board.", {.peer = 0}});
                        send_message(*connection, &yes, sizeof yes, {connection->get()}, soon());
                        send_message(*connection, &no, sizeof no, {}, soon());
                      }).first;
  EXPECT_EQ(thrown.value().code(), ErrorCode::kIo);
  EXPECT_EQ(thrown->peer(), 0);
  EXPECT_STREQ(thrown->what(), "Rank 0 lost its board.");
}

TEST_F(Join, ARankZeroThatSaysNoMoreIsNotWaitedForForEver) {
  JoinRequest one = request(1, 2, 100);
  JoinRequest other = one;
  other.job += "-other";
  std::optional<Error> silent;
  std::jthread thread([&] { silent = with_a_leader_that(one, [](auto&) {}).first; });
  const auto half = with_a_leader_that(other, [](auto& connection) {
                      const Verdict yes = Verdict::yes();
                      send_message(*connection, &yes, sizeof yes, {connection->get()}, soon());
                    }).first;
  thread.join();
  for (const auto& thrown : {silent, half}) {
    EXPECT_EQ(thrown.value().code(), ErrorCode::kTimeout);
    EXPECT_EQ(thrown->peer(), 0);
  }
  EXPECT_THAT(silent->what(), testing::HasSubstr("Rank 1 waited 0.1 s for rank 0 to let it join. Is it running"));
  EXPECT_THAT(half->what(),
              testing::HasSubstr("Rank 1 waited 0.1 s for rank 0 to introduce the others. Is it running"));
}

TEST_F(Join, ARankZeroOfAnotherBuildIsRefused) {
  const auto shorter = with_a_leader_that(request(1, 2), [](auto& connection) {
                         send_message(*connection, "yes", 3, {}, soon());
                       }).first;
  EXPECT_EQ(shorter.value().code(), ErrorCode::kTransport);
  EXPECT_THAT(shorter->what(), testing::AllOf(testing::HasSubstr("A rank sent an answer of 3 bytes, not "),
                                              testing::HasSubstr("do all ranks run the same build?")));
  const auto without_board = with_a_leader_that(request(1, 2), [](auto& connection) {
                               const Verdict yes = Verdict::yes();
                               send_message(*connection, &yes, sizeof yes, {}, soon());
                             }).first;
  EXPECT_EQ(without_board.value().code(), ErrorCode::kMismatch);
  EXPECT_THAT(without_board->what(), testing::HasSubstr("none of this version of Lockstep"));
}

}  // namespace lockstep::shm
