#include "runtime/message_streams.h"

#include "algorithms/catalog.h"
#include "base/error_for_tests.h"
#include "runtime/message_operation.h"
#include "transport/tcp/transports_for_tests.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

namespace lockstep {

/// Who only sends would sleep for ever otherwise.
TEST(MessageStreams, WhoHasNoRoomWaitsForRoom) {
  constexpr std::size_t kFarTooMany = std::size_t{8} << 20U;
  std::atomic<bool> is_full = false;
  tcp::on_transports(2, [&](MessageTransport& transport) {
    const Schedule schedule = find_algorithm("direct").build({.collective = Collective::kBroadcast, .ranks = 2});
    Announcement announcement;
    announcement.collective = Collective::kBroadcast;
    announcement.count = kFarTooMany;
    MessageOperation::Shared shared(2);
    MessageOperation operation(
        transport, shared,
        {.plan = std::make_shared<const MessagePlan>(make_message_plan(schedule, transport.rank())),
         .announcement = announcement,
         .layout = Layout({.collective = Collective::kBroadcast,
                           .ranks = 2,
                           .chunks = schedule.chunks,
                           .count = kFarTooMany,
                           .block_counts = {}})});
    std::vector<float> values(kFarTooMany);
    const Call call{values.data(), values.data(), "", std::chrono::seconds(40)};
    operation.begin(call, 1);
    if (transport.rank() == 0) {
      EXPECT_FALSE(operation.advance()) << "it all had room";
      std::vector<pollfd> sockets;
      operation.add_awaited_sockets(sockets);
      EXPECT_EQ(sockets.size(), 1U);
      EXPECT_EQ(sockets.empty() ? 0 : sockets.front().events, POLLOUT);
      is_full = true;
    }
    while (!is_full) std::this_thread::yield();
    while (!operation.advance()) operation.wait_for_peer();
  });
}

/// As where the operation that ranks disagreed about went along other links than this one.
TEST(MessageStreams, WhoDisagreedBeforeIsToldAboutWhat) {
  Announcement broadcast;
  broadcast.sequence = 4;
  broadcast.collective = Collective::kBroadcast;
  broadcast.root = 1;
  Announcement ours;
  ours.sequence = 6;
  ours.collective = Collective::kAllReduce;
  ours.fingerprint = 1;
  Announcement theirs = ours;
  Announced past;
  past.add(broadcast);
  past.add(ours);
  EXPECT_NO_THROW(require_agreement({0, ours}, {2, theirs}, past));
  theirs.fingerprint = 2;
  const auto compare = [&] { require_agreement({0, ours}, {2, theirs}, past); };
  EXPECT_THAT(compare, testing_support::refuses(ErrorCode::kMismatch,
                                                "the ranks agree about what it is (ranks 0, 2: all_reduce of 0 "
                                                "float32 (sum, )), but not about every operation before it"));
  theirs.recent = 0x100;  // the operation before the last
  EXPECT_THAT(compare, testing_support::refuses(ErrorCode::kMismatch,
                                                "the ranks disagree about what #4 before it was (rank 0: broadcast of "
                                                "0 float32 at root 1 (); rank 2: something else)"));
  theirs.recent = 0x10000;
  EXPECT_THAT(compare, testing_support::refuses(ErrorCode::kMismatch, "but not about every operation before it"))
      << "this rank has kept nothing of #3";
}

}  // namespace lockstep
