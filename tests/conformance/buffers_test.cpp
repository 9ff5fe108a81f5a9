// Buffers that no transport of today takes are refused in a sentence, and the group is none the worse for it.
#include "tests/conformance/on_every_setting.h"

#include <gmock/gmock.h>
#include <lockstep/error.h>

namespace lockstep::conformance {

namespace {

/// What a collective and a message with that buffer are told, but for the rank.
std::vector<std::string> refusals_of(const World& world, const Buffer& buffer) {
  std::vector<std::string> told;
  const std::string rank = "Rank " + std::to_string(world.rank()) + ": ";
  const auto keep = [&](const auto& call) {
    try {
      call().wait();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
      told.push_back(std::string(error.what()).substr(rank.size()));
    }
  };
  keep([&] { return world.all_reduce(buffer); });
  keep([&] { return world.send(buffer, world.rank() == 0 ? 1 : 0); });
  return told;
}

}  // namespace

class Buffers : public OnEverySetting {};

TEST_P(Buffers, OfADeviceAreRefused) {
  run_world(GetParam(), [](Member& member) {
    std::vector<float> values(3, 1.0F);
    Buffer buffer = buffer_of(values);
    buffer.device = Device::kCuda;
    const std::string why = std::string("the buffer is in device memory, which the transport ") +
                            (has_registered() ? "shm" : "tcp") + " does not take; copy it to host memory first.";
    EXPECT_THAT(refusals_of(member.world, buffer), testing::ElementsAre("all_reduce: " + why, "send: " + why));
    member.world.all_reduce(buffer_of(values)).wait();
    EXPECT_EQ(values[2], static_cast<float>(member.world.size()));
  });
}

TEST_P(Buffers, OfTheHostWithAStreamAreRefused) {
  run_world(GetParam(), [](Member& member) {
    std::vector<float> values(3, 1.0F);
    Buffer buffer = buffer_of(values);
    buffer.stream = &member;
    const std::string why =
        "the buffer has a stream, but is in host memory, which no stream orders; wait for the stream's work and leave "
        "Buffer::stream null.";
    EXPECT_THAT(refusals_of(member.world, buffer), testing::ElementsAre("all_reduce: " + why, "send: " + why));
    member.world.all_reduce(buffer_of(values)).wait();
    EXPECT_EQ(values[2], static_cast<float>(member.world.size()));
  });
}

LOCKSTEP_ON_EVERY_SETTING(Buffers);

}  // namespace lockstep::conformance
