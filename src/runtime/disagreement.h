#pragma once

#include "transport/transport.h"

#include <chrono>

namespace lockstep {

/// Throws Error (kMismatch) that says which ranks asked for what.
[[noreturn]] void throw_disagreement(const Transport& transport, const Announcement& own);

/// Throws Error (kTimeout) that names the ranks that did not come to the operation or, if all did, `peer`, which went
/// no further.
[[noreturn]] void throw_late(const Transport& transport, const Announcement& own, std::chrono::milliseconds timeout,
                             int peer);

}  // namespace lockstep
