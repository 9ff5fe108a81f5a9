#include "lab/journal.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace lockstep::lab {

Journal::Journal(const OutputOptions& options, RunRecord run) : run_(std::move(run)), jsonl_path_(options.jsonl) {
  if (!jsonl_path_.empty()) {
    jsonl_.open(jsonl_path_, std::ios::trunc);
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
  const bool keep = records_.size() < 2 || records_.back().iteration % stride_ == 0 || records_.back().validation_loss;
  if (!keep) records_.pop_back();
  records_.push_back(record);
  if (records_.size() > kMostRecords) thin_out();
}

void Journal::thin_out() {
  stride_ *= 2;
  const auto dispensable = [&](const IterationRecord& record) {
    return record.iteration % stride_ != 0 && !record.validation_loss;
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
