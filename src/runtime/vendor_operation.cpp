#include "runtime/vendor_operation.h"

#include "kernels/reduce.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace lockstep {

namespace {

/// Between looks once patience is over: nobody says when the library would have something to do.
constexpr std::chrono::microseconds kBetweenLooks{50};

}  // namespace

VendorOperation::VendorOperation(MessageTransport& transport, Setup setup)
    : RunningOperation(setup.announcement),
      transport_(transport),
      meeting_(std::move(setup.meeting)),
      collective_(std::move(setup.collective)),
      reduced_(setup.reduced) {}

void VendorOperation::enter() {
  meeting_->begin(call(), announcement_.sequence, past_);
  handed_over_ = false;
  vigil_.begin_anew();
}

bool VendorOperation::go_on() {
  if (!handed_over_) {
    if (!meeting_->advance()) return false;
    collective_->begin(call().input, call().output);
    handed_over_ = true;
  }
  if (!collective_->test()) return false;
  if (announcement_.op == ReduceOp::kMean) divide();
  return true;
}

void VendorOperation::divide() {
  if (reduced_.count == 0) return;
  void* const sum = static_cast<std::byte*>(call().output) + reduced_.offset_bytes;
  const void* const operand = sum;
  kernels::reduce({.targets = &sum,
                   .target_count = 1,
                   .operands = &operand,
                   .operand_count = 1,
                   .count = reduced_.count,
                   .dtype = announcement_.dtype,
                   .op = ReduceOp::kMean,
                   .divide_by = transport_.size()});
}

void VendorOperation::wait_for_peer_until(Time at_most) {
  const Time end = deadline_.next_look_or(at_most);  // counted from the first wait, the meeting's too
  if (!handed_over_) return meeting_->wait_for_peer_until(at_most);
  if (!CallDeadline::is_over(at_most) && vigil_.stay_awake(transport_.patience())) return;
  if (deadline_.has_passed()) throw_late(transport_.rank(), transport_.idle_peers(), kGaveNoAnswer);
  std::this_thread::sleep_until(std::min(end, CallDeadline::Clock::now() + kBetweenLooks));
  (void)transport_.wait({}, CallDeadline::Clock::now());  // hears what peers say beside the data, and throws it
}

void VendorOperation::add_awaited_sockets(std::vector<pollfd>& sockets) {
  if (!handed_over_) meeting_->add_awaited_sockets(sockets);
}

}  // namespace lockstep
