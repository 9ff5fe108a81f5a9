#include "lab/journal.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace lockstep::lab {

Journal::Journal(const OutputOptions& options, RunRecord run, bool goes_on)
    : run_(std::move(run)), jsonl_path_(options.jsonl) {
  if (!jsonl_path_.empty()) {
    jsonl_.open(jsonl_path_, goes_on ? std::ios::app : std::ios::trunc);
    if (!jsonl_) {
      throw Error(ErrorCode::kInvalidArgument, fmt::format("--jsonl {} cannot be written: {}.", jsonl_path_,
                                                           std::generic_category().message(errno)));
    }
  }
  if (!options.tensorboard.empty()) tensorboard_.emplace(options.tensorboard, run_.item);
  auto display = Console::detect(stdout);
  display.every = options.print_every(run_.iterations);
  display.buckets = options.log_sync;
  console_ = std::make_unique<Console>(run_, display);
}

void Journal::add(const IterationRecord& record) {
  console_->iteration(record);
  if (jsonl_.is_open()) jsonl_ << to_json(record, run_.item) << std::endl;  // flushed, for those who follow it
  if (tensorboard_) tensorboard_->add(record);
  // The last one always stays, until the next comes.
  if (records_.size() >= 2 && !is_kept(records_.back())) records_.pop_back();
  if (record.validation_loss) ++validations_;
  records_.push_back(record);
  if (records_.size() > kMostRecords) thin_out();
}

/// Of the record that came last.
bool Journal::is_kept(const IterationRecord& record) const {
  return record.validation_loss ? validations_ % validation_stride_ == 0 : record.iteration % stride_ == 0;
}

/// Leaves half of those of which there are more.
void Journal::thin_out() {
  const auto is_validation = [](const IterationRecord& record) { return record.validation_loss.has_value(); };
  const auto validations = std::count_if(records_.begin(), records_.end(), is_validation);
  const bool of_validations = 2 * static_cast<std::size_t>(validations) > records_.size();
  (of_validations ? validation_stride_ : stride_) *= 2;
  bool second = false;
  const auto dispensable = [&](const IterationRecord& record) {
    if (is_validation(record) != of_validations) return false;
    return of_validations ? (second = !second) : record.iteration % stride_ != 0;
  };
  records_.erase(std::remove_if(records_.begin() + 1, records_.end() - 1, dispensable), records_.end() - 1);
}

void Journal::close() {
  console_.reset();
  if (!jsonl_.is_open()) return;
  jsonl_.close();
  if (!jsonl_) {
    throw Error(ErrorCode::kIo,
                fmt::format("The lines of --jsonl {} could not all be written: is the disk full?", jsonl_path_));
  }
}

}  // namespace lockstep::lab
