#pragma once

#include "transport/transport.h"

namespace lockstep {

/// Throws Error (kMismatch) that says which ranks asked for what.
[[noreturn]] void throw_disagreement(const Transport& transport, const Announcement& own);

}  // namespace lockstep
