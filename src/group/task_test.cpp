#include "group/task.h"

#include "group/engine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <vector>

namespace lockstep::detail {

namespace {

/// Over a transport that takes no memory but a device's.
class DeviceEngine final : public Engine {
 public:
  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  Medium medium() const override { return inner_->medium(); }
  bool takes(Device device) const override { return device == Device::kCuda; }
  RegisteredMemory allocate(std::size_t bytes) override { return inner_->allocate(bytes); }
  bool is_registered(const void* data, std::size_t bytes) const override { return inner_->is_registered(data, bytes); }
  std::unique_ptr<RunningOperation> prepare(Shape shape) override { return inner_->prepare(std::move(shape)); }
  ByteStreams& messages() override { return inner_->messages(); }
  std::uint64_t bytes_sent() const override { return inner_->bytes_sent(); }
  void fail(const Error& error) noexcept override { inner_->fail(error); }
  void look_around() override { inner_->look_around(); }
  std::string open_meeting() override { return inner_->open_meeting(); }
  std::unique_ptr<Engine> join(const Meeting& meeting) override { return inner_->join(meeting); }

 private:
  std::unique_ptr<Engine> inner_ = make_lone_engine();
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
