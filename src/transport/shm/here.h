#pragma once

#include <optional>
#include <string>

namespace lockstep::shm {

/// Whether this transport can work on this machine, in this process, between so many ranks: none if it can, else why
/// not, in a sentence.
std::optional<std::string> why_not_here(int ranks);

}  // namespace lockstep::shm
