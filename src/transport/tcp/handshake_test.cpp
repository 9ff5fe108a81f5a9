#include "transport/tcp/handshake.h"

#include "transport/tcp/deadline_for_tests.h"
#include "transport/tcp/hmac_for_tests.h"
#include "transport/tcp/join.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;

class HelloTest : public WithHmac {
 protected:
  static Hello hello_of(int rank, std::uint32_t channel) {
    return {.from = rank,
            .to = 0,
            .size = 2,
            .channel = static_cast<Channel>(channel),
            .listens_on = {},
            .unused = 0,
            .nonce = {}};
  }

  /// What rank 0 of 2 throws to which these come, one after the other, and know the secret.
  std::string error_of_leader(const std::vector<Hello>& hellos) {
    FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
    const Address meeting = Address::of(listener);
    std::string error = "none";
    std::jthread leader([&] {
      try {
        join_at({.job = "hellos", .size = 2, .secret = secret_, .timeout = milliseconds(20'000)}, meeting,
                std::move(listener));
      } catch (const Error& thrown) {
        error = thrown.what();
      }
    });
    std::vector<FileDescriptor> connections;
    for (const Hello& hello : hellos) {
      connections.push_back(connect_to(meeting, in(milliseconds(20'000))));
      EXPECT_TRUE(introduce(connections.back(), {secret_, "hellos"}, hello, in(milliseconds(20'000))));
    }
    leader.join();
    return error;
  }

  Secret secret_ = Secret::make();
};

}  // namespace

TEST_F(HelloTest, ARankThatThereIsNotIsRefused) {
  for (const int rank : {-1, 0, 2}) {
    EXPECT_EQ(error_of_leader({hello_of(rank, 0)}), fmt::format("Two processes say that they are rank {}.", rank));
  }
}

TEST_F(HelloTest, AChannelThatIsNotDueOrThereIsNotIsRefused) {
  const char* const refusal = "Two processes say that they are rank 1.";
  EXPECT_EQ(error_of_leader({hello_of(1, 1)}), refusal);
  for (const std::uint32_t channel : {0U, 3U, 0x80000000U}) {
    EXPECT_EQ(error_of_leader({hello_of(1, 0), hello_of(1, channel)}), refusal);
  }
}

}  // namespace lockstep::tcp
