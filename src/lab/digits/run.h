#pragma once

#include <lockstep/world.h>

#include <string>
#include <vector>

namespace lockstep::lab {

/// `lockstep-train digits` with these arguments, from reading the input to the report, as one rank of the world. Throws
/// Error, CLI::ParseError, FailedElsewhere. Collective.
void run_digits(const World& world, const std::vector<std::string>& arguments);

}  // namespace lockstep::lab
