#include "group/group_state.h"

#include "base/clock.h"
#include "base/environment.h"
#include "group/canonical.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <cstring>

namespace lockstep::detail {

namespace {

/// What a rank sends to itself goes through no schedule.
void copy_own_block(const Task& task, const Identity& identity) {
  const OwnBlock block = own_block(task, identity.rank, identity.size);
  if (block.bytes == 0) return;
  std::memcpy(static_cast<std::byte*>(task.buffer.data) + block.output_offset,
              static_cast<const std::byte*>(task.input) + block.input_offset, block.bytes);
}

using Time = std::chrono::steady_clock::time_point;

/// A rank that waits for an operation while messages are under way, or the other way round, sleeps for so long at most:
/// it is woken for one of the two only, and a peer may need the other to come further.
Time soon() { return std::chrono::steady_clock::now() + std::chrono::microseconds(200); }

/// "the group of the world's ranks 1, 3"; nothing for the world.
std::string name_of(const Identity& identity) {
  if (identity.world_ranks.empty()) return "";
  return fmt::format("the group of the world's ranks {}", fmt::join(identity.world_ranks, ", "));
}

}  // namespace

GroupState::GroupState(Identity identity, std::unique_ptr<Engine> engine)
    : identity_(std::move(identity)),
      engine_(std::move(engine)),
      schedules_(identity_.size, engine_->medium(), identity_.hosts),
      operations_(*engine_, schedules_),
      messages_(engine_->messages(), identity_.rank, identity_.size),
      default_timeout_(environment_duration(kTimeoutVariable, std::chrono::minutes(10))),
      default_reduction_(reduction_from_environment()) {}

GroupState::~GroupState() {
  if (std::uncaught_exceptions() > 0) abandon("an exception ended it");
}

Pending GroupState::start(const Task& task, const OperationOptions& options) {
  throw_if_failed();
  validate(task, identity_.rank, identity_.size);
  PreparedOperation& operation = operations_.find(task, options.algorithm, reduction_of(options));
  if (task.collective == Collective::kAllToAll) copy_own_block(task, identity_);
  ++totals_.operations;
  if (identity_.size == 1) {
    if (options.record)
      *options.record = {.algorithm = operation.algorithm, .begun_us = now_us(), .completed_us = now_us()};
    return {};
  }
  totals_.steps += static_cast<std::uint64_t>(operation.steps);
  totals_.wire_bytes += operation.wire_bytes;
  push(task, operation, options);
  progress();
  if (is_complete(sequence_)) return {};
  return {shared_from_this(), sequence_};
}

void GroupState::push(const Task& task, PreparedOperation& operation, const OperationOptions& options) {
  QueuedOperation& entry = queue_.push();
  entry.operation = &operation;
  entry.call.input = task.input_data();
  entry.call.output = task.buffer.data;
  entry.call.purpose = options.purpose;
  entry.call.timeout = timeout_of(options);
  entry.sequence = ++sequence_;
  entry.begun = false;
  entry.record = options.record;
}

void GroupState::begin_front() {
  QueuedOperation& front = queue_.front();
  front.operation->running->begin(front.call, front.sequence);
  front.begun = true;
  if (!front.record) return;
  *front.record = {.algorithm = front.operation->algorithm,
                   .steps = front.operation->steps,
                   .wire_bytes = front.operation->wire_bytes,
                   .begun_us = now_us()};
}

void GroupState::complete_front() {
  QueuedOperation& front = queue_.front();
  if (front.record) front.record->completed_us = now_us();
  front.record.reset();
  completed_ = front.sequence;
  queue_.pop();
}

Pending GroupState::start(PointToPoint::Direction direction, int peer, const Buffer& buffer,
                          const OperationOptions& options) {
  throw_if_failed();
  const PointToPoint::Message message{.direction = direction,
                                      .peer = peer,
                                      .buffer = buffer,
                                      .purpose = options.purpose,
                                      .timeout = timeout_of(options)};
  validate(message, identity_.rank, identity_.size);
  const PointToPoint::Ticket ticket = messages_.start(message);
  progress();
  if (messages_.is_complete(ticket)) return {};
  return {std::shared_ptr<Awaited>(shared_from_this(), &awaited_messages_), ticket};
}

Reduction GroupState::reduction_of(const OperationOptions& options) const {
  return options.reduction == Reduction::kFromEnvironment ? default_reduction_ : options.reduction;
}

std::chrono::milliseconds GroupState::timeout_of(const OperationOptions& options) const {
  return options.timeout.count() > 0 ? options.timeout : default_timeout_;
}

std::string GroupState::algorithm_for(const Task& task, const OperationOptions& options) {
  return operations_.algorithm_for(task, options.algorithm, reduction_of(options));
}

bool GroupState::progress() {
  throw_if_failed();
  const bool operations_are_done = advance_operations();
  return advance_messages() && operations_are_done;
}

bool GroupState::advance_operations() {
  try {
    while (!queue_.empty()) {
      if (!queue_.front().begun) begin_front();
      if (!queue_.front().operation->running->advance()) return false;
      complete_front();
    }
  } catch (const Error& error) {
    fail_in_operation(error);
  }
  return true;
}

bool GroupState::advance_messages() {
  if (messages_.idle()) return true;
  try {
    messages_.advance();
  } catch (const Error& error) {
    fail_in_message(error);
  }
  return messages_.idle();
}

bool GroupState::advance_to(std::uint64_t sequence) {
  if (!is_complete(sequence)) progress();
  return is_complete(sequence);
}

void GroupState::wait_until(std::uint64_t sequence) {
  while (!is_complete(sequence)) {
    progress();
    if (is_complete(sequence)) return;
    try {
      queue_.front().operation->running->wait_for_peer_until(messages_.idle() ? Time::max() : soon());
    } catch (const Error& error) {
      fail_in_operation(error);
    }
  }
}

bool GroupState::AwaitedMessages::advance_to(PointToPoint::Ticket ticket) {
  if (!state_.messages_.is_complete(ticket)) state_.progress();
  return state_.messages_.is_complete(ticket);
}

void GroupState::AwaitedMessages::wait_until(PointToPoint::Ticket ticket) {
  while (!state_.messages_.is_complete(ticket)) {
    state_.progress();
    if (!state_.messages_.is_complete(ticket)) state_.wait_for_message(ticket);
  }
}

void GroupState::wait_for_message(PointToPoint::Ticket ticket) {
  try {
    messages_.wait_for(ticket, queue_.empty() ? Time::max() : soon());
  } catch (const Error& error) {
    fail_in_message(error);
  }
}

void GroupState::fail_in_operation(const Error& error) {
  fail(error, scene_of(*queue_.front().operation->running, identity_.rank, name_of(identity_)));
}

void GroupState::fail_in_message(const Error& error) { fail(error, messages_.scene(name_of(identity_))); }

void GroupState::fail(const Error& error, const ErrorScene& scene) {
  engine_->fail(error);
  error_ = std::make_exception_ptr(explain(scene, error));
  std::rethrow_exception(error_);
}

void GroupState::throw_if_failed() const {
  if (error_) std::rethrow_exception(error_);
}

void GroupState::abandon(const std::string& why) noexcept {
  engine_->fail(
      {ErrorCode::kPeerLeft, fmt::format("rank {} left the group: {}", identity_.rank, why), {.peer = identity_.rank}});
}

}  // namespace lockstep::detail
