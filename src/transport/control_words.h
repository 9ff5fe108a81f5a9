#pragma once

#include <lockstep/error.h>

#include <cstdint>
#include <optional>
#include <span>

namespace lockstep {

// What peers say beside the data, as every transport reads it.

/// None of a number that stands for none in this version.
std::optional<ErrorCode> known_code(std::uint32_t code);

/// What `peer` said that it failed of; `text` ends with it or before. One that is about nobody (below 0) is about the
/// peer.
Error failure_told_by(int peer, std::uint32_t code, std::int64_t about, std::span<const char> text);

/// That it said something else than ranks say.
Error unknown_word_of(int peer, std::uint32_t kind);

}  // namespace lockstep
