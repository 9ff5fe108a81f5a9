#include "group/engine.h"
#include "runtime/message_operation.h"

#include <map>
#include <string>
#include <tuple>

namespace lockstep::detail {

namespace {

class MessageEngine final : public Engine {
 public:
  explicit MessageEngine(std::unique_ptr<MessageTransport> transport)
      : transport_(std::move(transport)), buffers_(static_cast<std::size_t>(transport_->size())) {}

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  Medium medium() const override { return Medium::kMessages; }
  RegisteredMemory allocate(std::size_t bytes) override { return transport_->allocate(bytes); }
  // All memory is alike: what moves goes from and to where it lies.
  bool is_registered(const void* /*data*/, std::size_t /*bytes*/) const override { return false; }
  ByteStreams& messages() override { return transport_->messages(); }
  std::uint64_t bytes_sent() const override { return transport_->bytes_sent(); }
  void fail(const Error& error) noexcept override { transport_->fail(error); }
  std::string open_meeting() override { return transport_->open_meeting(); }
  std::unique_ptr<Engine> join(const Meeting& meeting) override { return make_engine(transport_->join(meeting)); }

  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    const Schedule& schedule = *shape.schedule;
    auto& plan = plans_[{schedule.name, schedule.collective, schedule.root}];
    if (!plan) plan = std::make_shared<const MessagePlan>(make_message_plan(schedule, transport_->rank()));
    shape.announcement.fingerprint = fingerprint_of(shape.announcement);
    return std::make_unique<MessageOperation>(
        *transport_, buffers_,
        MessageOperation::Setup{.plan = plan, .announcement = shape.announcement, .layout = std::move(shape.layout)});
  }

 private:
  std::unique_ptr<MessageTransport> transport_;
  MessageOperation::ReceiveBuffers buffers_;
  std::map<std::tuple<std::string, Collective, int>, std::shared_ptr<const MessagePlan>> plans_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(std::unique_ptr<MessageTransport> transport) {
  return std::make_unique<MessageEngine>(std::move(transport));
}

}  // namespace lockstep::detail
