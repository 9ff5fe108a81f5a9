#include "group/prepared_operations.h"

#include <algorithm>
#include <utility>

namespace lockstep::detail {

std::size_t PreparedOperations::KeyHash::operator()(const Key& key) const {
  std::size_t hash = key.count;
  const auto mix = [&](std::size_t value) { hash = (hash ^ value) * 0x9e3779b97f4a7c15U + (hash >> 29U); };
  mix(static_cast<std::size_t>(key.collective) << 24U | static_cast<std::size_t>(key.dtype) << 16U |
      static_cast<std::size_t>(key.op) << 8U | static_cast<std::size_t>(key.registered));
  mix(static_cast<std::size_t>(key.root) << 32U | static_cast<std::size_t>(key.asked));
  for (const std::size_t count : key.block_counts) mix(count);
  return hash;
}

RunningOperation& PreparedOperations::find(const Task& task, std::string_view algorithm) {
  const std::size_t bytes = task.buffer.bytes();
  const bool registered = bytes > 0 && engine_.is_registered(task.buffer.data, bytes) &&
                          (task.input == nullptr || engine_.is_registered(task.input, bytes));
  const int asked = schedules_.number_of(algorithm);
  if (last_ != nullptr && last_key_.count == task.buffer.count && last_key_.collective == task.collective &&
      last_key_.dtype == task.buffer.dtype && last_key_.op == task.op && last_key_.registered == registered &&
      last_key_.root == task.root && last_key_.asked == asked && last_key_.block_counts == task.block_counts) {
    return *last_;
  }
  last_ = nullptr;
  last_key_.collective = task.collective;
  last_key_.dtype = task.buffer.dtype;
  last_key_.op = task.op;
  last_key_.registered = registered;
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
  validate(task, engine_.rank(), engine_.size());
  const std::string name = schedules_.resolve(schedules_.text_of(key.asked), task.collective, task.buffer.bytes());
  const Schedule& schedule = schedules_.get(name, task.collective, task.root);

  Announcement announcement;
  announcement.count = task.buffer.count;
  announcement.root = task.root;
  announcement.collective = task.collective;
  announcement.dtype = task.buffer.dtype;
  announcement.op = task.op;
  std::copy_n(name.begin(), std::min(name.size(), announcement.algorithm.size() - 1), announcement.algorithm.begin());

  Layout layout({.collective = task.collective,
                 .dtype = task.buffer.dtype,
                 .ranks = engine_.size(),
                 .chunks = schedule.chunks,
                 .count = task.buffer.count,
                 .block_counts = task.block_counts});
  return engine_.prepare(
      {.schedule = &schedule, .announcement = announcement, .layout = std::move(layout), .registered = key.registered},
      &recorder_);
}

}  // namespace lockstep::detail
