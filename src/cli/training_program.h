#pragma once

#include <array>
#include <string>
#include <string_view>

namespace lockstep::cli {

/// What `lockstep train` can train.
inline constexpr std::array<std::string_view, 3> kTrainings = {"text", "sst2", "digits"};

/// Throws Error (kInvalidArgument) with the nearest right word if there is no such training.
void check_training(const std::string& name);

/// The program that holds the trainings: beside this one, where a package puts what only programs start, or along PATH.
/// Throws Error (kUnsupported) if this build has none.
std::string find_training_program();

}  // namespace lockstep::cli
