#pragma once

#include "transport/transport.h"

#include <cstdint>

namespace lockstep {

/// A format for what the ranks agree about, where fingerprints differ nevertheless.
inline constexpr const char* kDisagreedBefore =
    "the ranks agree about what it is ({}), but not about every operation before it: compare what each rank asked for "
    "until then";

/// Throws Error (kMismatch) that says which ranks asked for what as operation `sequence`, or as the one before it from
/// which on they have disagreed.
[[noreturn]] void throw_disagreement(const Transport& transport, std::uint64_t sequence);

}  // namespace lockstep
