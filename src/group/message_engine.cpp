#include "algorithms/catalog.h"
#include "group/engine.h"
#include "runtime/message_operation.h"
#include "runtime/vendor_operation.h"

#include <map>
#include <string>
#include <tuple>

namespace lockstep::detail {

namespace {

constexpr std::string_view kMeetsInFewSteps = "recursive_doubling";

/// What of a rank's buffer holds a reduction in the end.
Layout::Span reduced_part(const Task& task, int rank, int size) {
  switch (task.collective) {
    case Collective::kAllReduce: return {0, task.buffer.count};
    case Collective::kReduce: return {0, rank == task.root ? task.buffer.count : 0};
    case Collective::kReduceScatter: {
      const Layout blocks({.collective = task.collective,
                           .dtype = task.buffer.dtype,
                           .ranks = size,
                           .chunks = size,
                           .count = task.buffer.count,
                           .block_counts = task.counts_of_blocks()});
      return blocks.input(rank, 0);
    }
    default: return {0, 0};
  }
}

class MessageEngine final : public Engine {
 public:
  MessageEngine(std::unique_ptr<MessageTransport> transport, Medium medium)
      : transport_(std::move(transport)), medium_(medium), shared_(transport_->size()) {}

  int rank() const override { return transport_->rank(); }
  int size() const override { return transport_->size(); }
  Medium medium() const override { return medium_; }
  bool takes(Device device) const override { return transport_->takes(device); }
  RegisteredMemory allocate(std::size_t bytes) override { return transport_->allocate(bytes); }
  // All memory is alike: what moves goes from and to where it lies.
  bool is_registered(const void* /*data*/, std::size_t /*bytes*/) const override { return false; }
  ByteStreams& messages() override { return transport_->messages(); }
  std::uint64_t bytes_sent() const override { return transport_->bytes_sent(); }
  void fail(const Error& error) noexcept override { transport_->fail(error); }
  void look_around() override { transport_->look_around(); }
  std::string open_meeting() override { return transport_->open_meeting(); }
  std::unique_ptr<Engine> join(const Meeting& meeting) override {
    return make_engine(transport_->join(meeting), medium_);
  }

  std::unique_ptr<RunningOperation> prepare(Shape shape) override {
    shape.announcement.fingerprint = fingerprint_of(shape.announcement);
    return std::make_unique<MessageOperation>(
        *transport_, shared_,
        MessageOperation::Setup{
            .plan = plan_for(*shape.schedule), .announcement = shape.announcement, .layout = std::move(shape.layout)});
  }

  std::unique_ptr<RunningOperation> prepare_vendor(const Task& task, const Announcement& announcement) override {
    if (transport_->vendor() == nullptr) return nullptr;
    const ReduceOp op = task.op == ReduceOp::kMean ? ReduceOp::kSum : task.op;
    auto collective = transport_->vendor()->prepare({.collective = task.collective,
                                                     .dtype = task.buffer.dtype,
                                                     .op = op,
                                                     .root = task.root,
                                                     .count = task.buffer.count,
                                                     .block_counts = task.counts_of_blocks()});
    return std::make_unique<VendorOperation>(*transport_,
                                             VendorOperation::Setup{.meeting = prepare_meeting(announcement),
                                                                    .collective = std::move(collective),
                                                                    .announcement = announcement,
                                                                    .reduced = reduced_part(task, rank(), size())});
  }

 private:
  std::shared_ptr<const MessagePlan> plan_for(const Schedule& schedule) {
    auto& plan = plans_[{schedule.name, schedule.collective, schedule.root}];
    if (!plan) plan = std::make_shared<const MessagePlan>(make_message_plan(schedule, transport_->rank()));
    return plan;
  }

  /// A barrier under that announcement.
  std::unique_ptr<MessageOperation> prepare_meeting(const Announcement& announcement) {
    const Schedule barrier = find_algorithm(kMeetsInFewSteps)
                                 .build({.collective = Collective::kBarrier, .ranks = size(), .only_rank = rank()});
    return std::make_unique<MessageOperation>(
        *transport_, shared_,
        MessageOperation::Setup{
            .plan = plan_for(barrier), .announcement = announcement, .layout = Layout({}), .only_meets = true});
  }

  std::unique_ptr<MessageTransport> transport_;
  Medium medium_;
  MessageOperation::Shared shared_;
  std::map<std::tuple<std::string, Collective, int>, std::shared_ptr<const MessagePlan>> plans_;
};

}  // namespace

std::unique_ptr<Engine> make_engine(std::unique_ptr<MessageTransport> transport, Medium medium) {
  return std::make_unique<MessageEngine>(std::move(transport), medium);
}

}  // namespace lockstep::detail
