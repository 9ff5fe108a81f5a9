#pragma once

#include <lockstep/world.h>

#include <string>
#include <vector>

namespace lockstep::lab {

/// `lockstep-train text` with these arguments, from reading the input to the report, as one rank of the world. Throws
/// what prepare_text, train_text and summarize throw. Collective.
void run_text(const World& world, const std::vector<std::string>& arguments);

}  // namespace lockstep::lab
