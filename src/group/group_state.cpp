#include "group/group_state.h"

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

/// "the group of the world's ranks 1, 3"; nothing for the world.
std::string name_of(const Identity& identity) {
  if (identity.world_ranks.empty()) return "";
  return fmt::format("the group of the world's ranks {}", fmt::join(identity.world_ranks, ", "));
}

}  // namespace

GroupState::GroupState(Identity identity, std::unique_ptr<Engine> engine)
    : identity_(std::move(identity)),
      engine_(std::move(engine)),
      schedules_(identity_.size, engine_->medium()),
      operations_(*engine_, schedules_),
      default_timeout_(environment_duration(kTimeoutVariable, std::chrono::minutes(10))),
      default_reduction_(reduction_from_environment()) {}

GroupState::~GroupState() {
  if (std::uncaught_exceptions() > 0) abandon("an exception ended it");
}

Pending GroupState::start(const Task& task, const OperationOptions& options) {
  throw_if_failed();
  validate(task, identity_.rank, identity_.size);
  RunningOperation& operation = operations_.find(task, options.algorithm, reduction_of(options));
  if (task.collective == Collective::kAllToAll) copy_own_block(task, identity_);
  if (identity_.size == 1) return {};
  OperationQueue::Entry& entry = queue_.push();
  entry.operation = &operation;
  entry.call.input = task.input_data();
  entry.call.output = task.buffer.data;
  entry.call.purpose = options.purpose;
  entry.call.timeout = options.timeout.count() > 0 ? options.timeout : default_timeout_;
  entry.sequence = ++sequence_;
  entry.begun = false;
  progress();
  if (is_complete(sequence_)) return {};
  return {shared_from_this(), sequence_};
}

Reduction GroupState::reduction_of(const OperationOptions& options) const {
  return options.reduction == Reduction::kFromEnvironment ? default_reduction_ : options.reduction;
}

std::string GroupState::algorithm_for(const Task& task, const OperationOptions& options) {
  return operations_.algorithm_for(task, options.algorithm, reduction_of(options));
}

bool GroupState::advance_to(std::uint64_t sequence) {
  if (!is_complete(sequence)) progress();
  return is_complete(sequence);
}

bool GroupState::progress() {
  throw_if_failed();
  try {
    while (!queue_.empty()) {
      OperationQueue::Entry& front = queue_.front();
      if (!front.begun) front.operation->begin(front.call, front.sequence);
      front.begun = true;
      if (!front.operation->advance()) return false;
      completed_ = front.sequence;
      queue_.pop();
    }
  } catch (const Error& error) {
    fail(error);
  }
  return true;
}

void GroupState::wait_until(std::uint64_t sequence) {
  while (!is_complete(sequence)) {
    progress();
    if (is_complete(sequence)) return;
    try {
      queue_.front().operation->wait_for_peer();
    } catch (const Error& error) {
      fail(error);
    }
  }
}

void GroupState::fail(const Error& error) {
  engine_->fail(error);
  error_ = std::make_exception_ptr(explain(*queue_.front().operation, identity_.rank, name_of(identity_), error));
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
