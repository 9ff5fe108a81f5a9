#pragma once

#include "transport/transport.h"

#include <cstdint>

namespace lockstep {

/// Throws Error (kMismatch) that says which ranks asked for what as operation `sequence`.
[[noreturn]] void throw_disagreement(const Transport& transport, std::uint64_t sequence);

}  // namespace lockstep
