#include "base/environment.h"

#include "base/units.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <charconv>
#include <cstdlib>

namespace lockstep {

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

int whole_number(const char* name, const std::string& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("The environment variable {} is '{}', which is not a whole number.", name, text));
  }
  return value;
}

std::chrono::milliseconds environment_duration(const char* name, std::chrono::milliseconds fallback) {
  const auto text = environment(name);
  if (!text) return fallback;
  std::chrono::milliseconds duration{0};
  try {
    duration = std::chrono::duration_cast<std::chrono::milliseconds>(parse_duration(*text));
  } catch (const Error& error) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("The environment variable {}: {}", name, error.what()));
  }
  if (duration.count() > 0) return duration;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The environment variable {} is '{}'; it takes a millisecond or more.", name, *text));
}

}  // namespace lockstep
