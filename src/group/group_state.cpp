#include "group/group_state.h"

#include "algorithms/catalog.h"
#include "base/environment.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstring>

namespace lockstep::detail {

namespace {

/// What a Pending holds: an operation of the group's queue.
class QueuedOperation final : public Operation {
 public:
  QueuedOperation(std::shared_ptr<GroupState> group, std::shared_ptr<CollectiveOperation> operation)
      : group_(std::move(group)), operation_(std::move(operation)) {}
  bool advance() override {
    if (!group_->is_complete(*operation_)) group_->progress();
    return group_->is_complete(*operation_);
  }
  void wait() override { group_->finish(*operation_); }

 private:
  std::shared_ptr<GroupState> group_;
  std::shared_ptr<CollectiveOperation> operation_;
};

Announcement make_announcement(const GroupState::Task& task, const Plan& plan, std::uint64_t sequence) {
  Announcement announcement;
  announcement.sequence = sequence;
  announcement.count = task.buffer.count;
  announcement.root = task.root;
  announcement.collective = task.collective;
  announcement.dtype = task.buffer.dtype;
  announcement.op = task.op;
  const std::string& name = plan.algorithm;
  std::copy_n(name.begin(), std::min(name.size(), announcement.algorithm.size() - 1), announcement.algorithm.begin());
  return announcement;
}

}  // namespace

GroupState::GroupState(Identity identity, std::unique_ptr<Transport> transport)
    : identity_(std::move(identity)),
      transport_(std::move(transport)),
      staging_(*transport_),
      default_algorithm_(environment(kAlgorithmVariable).value_or("auto")),
      default_timeout_(environment_duration(kTimeoutVariable, std::chrono::minutes(10))) {}

GroupState::~GroupState() {
  if (std::uncaught_exceptions() > 0) abandon("an exception ended it");
}

void GroupState::validate(const Task& task) const {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Rank {}: {}: {}", identity_.rank, to_string(task.collective), why),
                {.rank = identity_.rank, .operation = std::string(to_string(task.collective))});
  };
  const int size = identity_.size;
  if (task.buffer.data == nullptr && task.buffer.count > 0) refuse("the buffer is a null pointer.");
  if (!transport_->takes(task.buffer.device)) refuse("no transport here takes device memory.");
  if (task.root < 0 || task.root >= size) refuse(fmt::format("the root is {} in a group of {}.", task.root, size));
  const bool blocks = task.collective == Collective::kReduceScatter || task.collective == Collective::kAllGather;
  if (blocks && task.buffer.count % static_cast<std::size_t>(size) != 0) {
    refuse(
        fmt::format("{} elements are no multiple of the group's {} ranks; pad the buffer.", task.buffer.count, size));
  }
}

std::shared_ptr<const Plan> GroupState::plan_for(const Task& task, const std::string& asked) {
  const std::string& name = asked == "auto" ? default_algorithm_ : asked;
  auto& plan = plans_[{task.collective, name, task.root}];
  if (!plan) {
    const Algorithm& algorithm = name == "auto" ? lockstep::default_algorithm(task.collective) : find_algorithm(name);
    const Schedule view = algorithm.build(
        {.collective = task.collective, .ranks = identity_.size, .root = task.root, .only_rank = identity_.rank});
    plan = std::make_shared<const Plan>(make_plan(view, identity_.rank));
  }
  return plan;
}

Pending GroupState::start(const Task& task, const OperationOptions& options) {
  throw_if_failed();
  validate(task);
  const auto plan = plan_for(task, options.algorithm);
  if (identity_.size == 1) return {};
  StagedBuffer buffer(staging_, *transport_, task.collective, task.buffer);
  Announcement announcement = make_announcement(task, *plan, ++sequence_);
  announcement.offset = buffer.offset();
  auto operation = std::make_shared<CollectiveOperation>(
      *transport_,
      CollectiveOperation::Request{.plan = plan,
                                   .announcement = announcement,
                                   .purpose = options.purpose,
                                   .timeout = options.timeout.count() > 0 ? options.timeout : default_timeout_,
                                   .recorder = recorder_});
  queue_.push_back({operation, std::move(buffer)});
  progress();
  return Pending(std::make_shared<QueuedOperation>(shared_from_this(), std::move(operation)));
}

bool GroupState::progress() {
  throw_if_failed();
  while (!queue_.empty()) {
    Entry& front = queue_.front();
    try {
      if (!front.operation->advance()) return false;
    } catch (const Error& error) {
      fail(*front.operation, error);
    }
    front.buffer.bring_home();
    queue_.pop_front();
  }
  return true;
}

bool GroupState::is_complete(const CollectiveOperation& operation) const {
  // Operations complete in the order they were asked for.
  return queue_.empty() || queue_.front().operation->announcement().sequence > operation.announcement().sequence;
}

void GroupState::finish(const CollectiveOperation& operation) {
  while (!is_complete(operation)) {
    progress();
    if (is_complete(operation)) return;
    try {
      queue_.front().operation->wait_for_peer();
    } catch (const Error& error) {
      fail(*queue_.front().operation, error);
    }
  }
}

void GroupState::fail(const CollectiveOperation& operation, const Error& error) {
  transport_->fail(error);
  error_ = std::make_exception_ptr(operation.explain(error));
  std::rethrow_exception(error_);
}

void GroupState::throw_if_failed() const {
  if (error_) std::rethrow_exception(error_);
}

void GroupState::abandon(const std::string& why) noexcept {
  transport_->fail(
      {ErrorCode::kPeerLeft, fmt::format("rank {} left the group: {}", identity_.rank, why), {.peer = identity_.rank}});
}

}  // namespace lockstep::detail
