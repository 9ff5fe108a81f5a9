#include "transport/shm/join.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <unistd.h>

#include "transport/shm/unix_socket.h"

#include <mutex>
#include <thread>

namespace lockstep::shm {

using std::chrono::milliseconds;

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

/// It hangs up as a process does that ends.
TEST_F(Join, ARankThatEndsMeanwhileIsNamedToAll) {
  std::jthread ends([&] { EXPECT_THROW(join_processes(request(2, 4, 3000)), Error); });
  std::vector<JoinRequest> others{request(0, 4), request(1, 4)};
  const auto before = std::chrono::steady_clock::now();
  EXPECT_THAT(errors_of(others), testing::Each(testing::HasSubstr("Rank 2 ended while the group was being formed")));
  EXPECT_LT(std::chrono::steady_clock::now() - before, others.front().timeout) << "nobody waits for the fourth";
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
  send_message(*stranger, "nonsense", 8, {});
  leader.join();
  EXPECT_THAT(error, testing::HasSubstr("a greeting of 8 bytes"));
}

}  // namespace lockstep::shm
