#include "transport/tcp/peers.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <array>
#include <chrono>

namespace lockstep::tcp {

/// It would be taken for a peer that is late, again and again, if it were taken for none that is ready.
TEST(TcpPeers, WaitingThatFailsIsThisRanksOwnError) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  Peers peers(0, {});
  const std::array<pollfd, 2> nobody{{{-1, POLLIN, 0}, {-1, POLLIN, 0}}};
  const auto now = std::chrono::steady_clock::now();
  EXPECT_FALSE(peers.poll(nobody, now));
  const testing_support::Limit fewer_than_these(RLIMIT_NOFILE, 1);
  EXPECT_THAT([&] { peers.poll(nobody, now); },
              testing_support::refuses(ErrorCode::kTransport, "Waiting for the peers' connections failed: Invalid"));
}

}  // namespace lockstep::tcp
