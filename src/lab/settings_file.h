#pragma once

#include "lab/output_options.h"

#include <lockstep/error.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::lab {

// What a run was asked for stands in its folder, for runs that go on with it.

/// Throws Error (kIo).
void write_settings(const OutputOptions& output, const nlohmann::json& settings);

/// Of the run in `folder`. Throws Error (kInvalidArgument) if there is none, or it is damaged.
nlohmann::json read_settings(const std::filesystem::path& folder);

/// The same as Settings, for a run of `lockstep train <what>`. Throws Error (kInvalidArgument) if it was none.
template <class Settings>
Settings settings_of_run(const std::filesystem::path& folder, const char* what) {
  const nlohmann::json settings = read_settings(folder);
  try {
    return settings.get<Settings>();
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorCode::kInvalidArgument,
                "--resume " + folder.string() + " was no training of " + what + ": " + error.what() + ".");
  }
}

/// Names and values, as a report shows them: those of objects inside without the object's name.
std::vector<std::pair<std::string, std::string>> describe_settings(const nlohmann::json& settings);

}  // namespace lockstep::lab
