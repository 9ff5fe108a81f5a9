#pragma once

#include "report/tensorboard.h"
#include "tests/processes/command.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A little-endian number of so many bytes.
inline std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t number = 0;
  for (std::size_t i = size; i-- > 0;) number = number << 8 | static_cast<unsigned char>(bytes.at(at + i));
  return number;
}

/// The events of a file, each of which must stand in a whole record with the right checksums.
inline std::vector<std::string> events_in(std::string_view file) {
  constexpr std::size_t kHead = 12;  // the length, and its checksum
  std::vector<std::string> events;
  while (!file.empty()) {
    const std::size_t length = file.size() < kHead ? 0 : number_at(file, 0, 8);
    events.emplace_back(file.substr(std::min(kHead, file.size()), length));
    const std::string record = tensorboard_record(events.back());
    if (!file.starts_with(record)) {
      ADD_FAILURE() << "event " << events.size() << " is cut short or has a wrong checksum";
      break;
    }
    file.remove_prefix(record.size());
  }
  return events;
}

/// The iteration that an event is of.
inline std::uint64_t step_of(const std::string& event) {
  constexpr std::size_t kStep = 10;  // behind the time, and what says that a step follows
  std::uint64_t step = 0;
  for (std::size_t at = kStep, shift = 0; at < event.size(); ++at, shift += 7) {
    const auto byte = static_cast<unsigned char>(event[at]);
    step |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) break;
  }
  return step;
}

/// The value that an event has for a tag of less than 128 bytes.
inline std::optional<float> scalar_in(const std::string& event, const std::string& tag) {
  const std::string begin = '\x0a' + std::string(1, static_cast<char>(tag.size())) + tag + '\x15';
  const std::size_t at = event.find(begin);
  if (at == std::string::npos) return std::nullopt;
  return std::bit_cast<float>(static_cast<std::uint32_t>(number_at(event, at + begin.size(), 4)));
}

inline bool has_tensorboard() {
  return testing_support::python_has("tensorboard.backend.event_processing.event_accumulator");
}
constexpr const char* kNoTensorboard = "LOCKSTEP_PYTHON (or python3) has no package tensorboard";

/// What TensorBoard's own reader has of an event file: of each tag [[step, "value"], ...].
inline nlohmann::json read_by_tensorboard(const std::filesystem::path& file) {
  constexpr const char* kRead = R"(
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1])
events.Reload()
tags = events.Tags()['scalars']
print(json.dumps({tag: [[e.step, str(e.value)] for e in events.Scalars(tag)] for tag in tags}))
)";
  const auto read = testing_support::run_command({testing_support::python(), "-c", kRead, file.string()});
  EXPECT_EQ(read.code, 0) << read.errors;
  return nlohmann::json::parse(read.output, nullptr, /*allow_exceptions=*/false);
}

}  // namespace lockstep
