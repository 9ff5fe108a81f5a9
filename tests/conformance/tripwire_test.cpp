// Ranks that are watched run as others do.
#include "tests/conformance/tripwire.h"

#include "transport/tcp/thread_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace lockstep::conformance {

TEST(Tripwire, LeavesATransportAsItIs) {
  constexpr int kRanks = 8;  // more than a small machine has cores
  constexpr std::size_t kPieceBytes = 12345;
  Tripwire tripwire;
  for (tcp::Host& host : tcp::thread_hosts(kRanks)) {
    host.piece_bytes = kPieceBytes;
    std::unique_ptr<MessageTransport> own = tcp::create(std::move(host));
    MessageTransport& plain = *own;
    const std::unique_ptr<MessageTransport> seen = watched(std::move(own), tripwire);
    EXPECT_EQ(seen->piece_bytes(), kPieceBytes);
    EXPECT_EQ(seen->patience(), plain.patience());
    EXPECT_EQ(seen->shares_core(), plain.shares_core());
    EXPECT_EQ(seen->messages().shares_core(), plain.messages().shares_core());
    for (const auto& [streams, of_plain] :
         {std::pair<ByteStreams*, ByteStreams*>{seen.get(), &plain}, {&seen->messages(), &plain.messages()}}) {
      const ByteStreams::Need need{.peer = (plain.rank() + 1) % kRanks, .room = false, .bytes = true};
      std::vector<pollfd> sockets;
      std::vector<pollfd> of_plain_sockets;
      streams->add_sockets({&need, 1}, sockets);
      of_plain->add_sockets({&need, 1}, of_plain_sockets);
      ASSERT_FALSE(of_plain_sockets.empty());
      ASSERT_EQ(sockets.size(), of_plain_sockets.size());
      EXPECT_EQ(sockets.front().fd, of_plain_sockets.front().fd);
    }
  }
}

}  // namespace lockstep::conformance
