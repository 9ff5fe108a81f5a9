#include "transport/control_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

namespace lockstep {

std::optional<ErrorCode> known_code(std::uint32_t code) {
  if (code > static_cast<std::uint32_t>(ErrorCode::kNonFinite)) return std::nullopt;
  return static_cast<ErrorCode>(code);
}

Error failure_told_by(int peer, std::uint32_t code, std::int64_t about, std::span<const char> text) {
  const std::string what(text.begin(), std::find(text.begin(), text.end(), '\0'));
  const int blamed = about >= 0 ? static_cast<int>(about) : peer;
  return {known_code(code).value_or(ErrorCode::kTransport), what, {.peer = blamed}};
}

Error unknown_word_of(int peer, std::uint32_t kind) {
  return {
      ErrorCode::kTransport,
      fmt::format("rank {} said something of kind {} on its control connection, which no rank of this version says; "
                  "do all ranks run the same version of Lockstep?",
                  peer, kind),
      {.peer = peer}};
}

}  // namespace lockstep
