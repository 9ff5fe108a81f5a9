#pragma once

#include "report/record.h"

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lockstep {

using TensorboardScalars = std::vector<std::pair<std::string, double>>;  ///< tag, value

/// A file of scalar events that TensorBoard reads, in its record format (TFRecord of Event messages). What was added is
/// in the file when `add` returns, so that a running training can be watched. For one thread.
class TensorboardWriter {
 public:
  /// Makes `folder` where it is not there, and in it events.out.tfevents.SECONDS.HOST (with .1, .2, ... behind where
  /// that is taken). `item` as RunRecord has it. Throws Error (kIo).
  explicit TensorboardWriter(const std::filesystem::path& folder, std::string item = "tokens");

  /// loss/training, loss/validation, accuracy/..., gradient_norm, learning_rate, tokens_per_second, time/compute_ms,
  /// ...: what the record has. Throws Error (kIo).
  void add(const IterationRecord& record);
  /// Values of iteration `step`, now. Throws Error (kIo).
  void add(std::int64_t step, const TensorboardScalars& scalars);

  const std::filesystem::path& path() const { return path_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::string item_;
  std::unique_ptr<std::FILE, Close> file_;

  void write(std::string_view event);
};

/// The pieces of such a file. An Event message with one Summary of all scalars (as floats, as TensorBoard has them):
std::string tensorboard_event(double wall_seconds, std::int64_t step, const TensorboardScalars& scalars);
/// The first event of a file.
std::string tensorboard_version(double wall_seconds);
/// An event as a record: length, its masked CRC-32C, the event, its masked CRC-32C.
std::string tensorboard_record(std::string_view event);

}  // namespace lockstep
