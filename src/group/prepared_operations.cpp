#include "group/prepared_operations.h"

#include <algorithm>
#include <utility>

namespace lockstep::detail {

std::size_t PreparedOperations::KeyHash::operator()(const Key& key) const {
  std::size_t hash = key.count;
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29U); };
  mix(static_cast<std::size_t>(key.collective) << 24U | static_cast<std::size_t>(key.dtype) << 16U |
      static_cast<std::size_t>(key.op) << 8U | static_cast<std::size_t>(key.in_place));
  mix(static_cast<std::size_t>(key.root) << 32U | static_cast<std::size_t>(key.asked));
  for (const std::size_t count : key.block_counts) mix(count);
  return hash;
}

PreparedOperations::PreparedOperations(Transport& transport, Schedules& schedules)
    : transport_(transport), schedules_(schedules), staging_(transport.staging_bytes()) {}

RunningOperation& PreparedOperations::find(const Task& task, std::string_view algorithm) {
  const std::size_t bytes = task.buffer.bytes();
  const bool registered = bytes > 0 && transport_.offset_of(task.buffer.data, bytes) &&
                          (task.input == nullptr || transport_.offset_of(task.input, bytes));
  const int asked = schedules_.number_of(algorithm);
  if (last_ != nullptr && last_key_.count == task.buffer.count && last_key_.collective == task.collective &&
      last_key_.dtype == task.buffer.dtype && last_key_.op == task.op && last_key_.in_place == registered &&
      last_key_.root == task.root && last_key_.asked == asked && last_key_.block_counts == task.block_counts) {
    return *last_;
  }
  last_ = nullptr;
  last_key_.collective = task.collective;
  last_key_.dtype = task.buffer.dtype;
  last_key_.op = task.op;
  last_key_.in_place = registered;
  last_key_.root = task.root;
  last_key_.asked = asked;
  last_key_.count = task.buffer.count;
  last_key_.block_counts = task.block_counts;
  auto found = operations_.find(last_key_);
  if (found == operations_.end()) found = operations_.emplace(last_key_, prepare(task, last_key_)).first;
  last_ = found->second.get();
  return *last_;
}

std::unique_ptr<RunningOperation> PreparedOperations::prepare(const Task& task, const Key& key) {
  validate(task, transport_.rank(), transport_.size());
  const std::string name = schedules_.resolve(schedules_.text_of(key.asked), task.collective, task.buffer.bytes());
  const Schedule& schedule = schedules_.get(name, task.collective, task.root);
  auto plan = plan_for(schedule, key, key.in_place && runs_in_place(schedule));

  Announcement announcement;
  announcement.count = task.buffer.count;
  announcement.root = task.root;
  announcement.collective = task.collective;
  announcement.dtype = task.buffer.dtype;
  announcement.op = task.op;
  announcement.in_place = plan->staging_versions == 0 && key.in_place;
  std::copy_n(name.begin(), std::min(name.size(), announcement.algorithm.size() - 1), announcement.algorithm.begin());
  announcement.fingerprint = fingerprint_of(announcement);

  Layout layout({.collective = task.collective,
                 .dtype = task.buffer.dtype,
                 .ranks = transport_.size(),
                 .chunks = schedule.chunks,
                 .count = task.buffer.count,
                 .block_counts = task.block_counts});
  auto operation = std::make_unique<SharedMemoryOperation>(
      transport_, staging_,
      SharedMemoryOperation::Setup{.plan = std::move(plan), .announcement = announcement, .layout = std::move(layout)});
  operation->record_transfers(&recorder_);
  return operation;
}

std::shared_ptr<const Plan> PreparedOperations::plan_for(const Schedule& schedule, const Key& key, bool in_place) {
  auto& plan = plans_[{schedule.name, key.collective, key.root, in_place}];
  if (!plan) {
    const int rank = transport_.rank();
    plan =
        std::make_shared<const Plan>(in_place ? make_in_place_plan(schedule, rank) : make_staged_plan(schedule, rank));
  }
  return plan;
}

}  // namespace lockstep::detail
