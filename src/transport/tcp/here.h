#pragma once

#include <optional>
#include <string>

namespace lockstep::tcp {

/// Whether this transport can work on this machine, in this process: none if it can, else why not, in a sentence.
std::optional<std::string> why_not_here();

}  // namespace lockstep::tcp
