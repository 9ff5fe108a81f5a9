#include "group/task.h"

#include "group/engine_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <vector>

namespace lockstep::detail {

namespace {

/// Over a transport that takes no memory but a device's.
class DeviceEngine final : public WrappedEngine {
 public:
  DeviceEngine() : WrappedEngine(make_lone_engine()) {}
  bool takes(Device device) const override { return device == Device::kCuda; }
};

}  // namespace

TEST(Task, TheTransportSaysWhichMemoryIsTaken) {
  const DeviceEngine engine;
  std::vector<float> values(3);
  int stream = 0;
  Task task{.collective = Collective::kAllReduce, .buffer = buffer_of(values), .block_counts = {}};
  EXPECT_THAT([&] { validate(task, Identity(), engine); },
              testing::ThrowsMessage<Error>("Rank 0: all_reduce: the buffer is in host memory, which the transport shm "
                                            "does not take; copy it to device memory first."));
  task.buffer.device = Device::kCuda;
  EXPECT_NO_THROW(validate(task, Identity(), engine));
  task.buffer.stream = &stream;
  EXPECT_NO_THROW(validate(task, Identity(), engine)) << "ordered by a stream";
}

}  // namespace lockstep::detail
