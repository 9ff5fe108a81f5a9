#include "lab/settings_file.h"

#include "base/atomic_file.h"
#include "lab/input_file.h"
#include "lab/require.h"

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

fs::path settings_path(const fs::path& folder) { return folder / "settings.json"; }

}  // namespace

void write_settings(const OutputOptions& output, const nlohmann::json& settings) {
  write_file_atomically(settings_path(output.folder()), settings.dump(2) + "\n");
}

nlohmann::json read_settings(const fs::path& folder) {
  const InputFile file(settings_path(folder));
  require(fs::exists(file.path()),
          fmt::format("--resume {} is not the folder of a run: it has no settings.json.", folder.string()));
  nlohmann::json settings = nlohmann::json::parse(file.content(), nullptr, /*allow_exceptions=*/false);
  if (!settings.is_object()) file.refuse("it is damaged; begin anew, without --resume.");
  return settings;
}

std::vector<std::pair<std::string, std::string>> describe_settings(const nlohmann::json& settings) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (const auto& [name, value] : settings.items()) {
    if (value.is_object()) {
      for (auto& pair : describe_settings(value)) pairs.push_back(std::move(pair));
    } else if (!value.is_string()) {
      pairs.emplace_back(name, value.dump());
    } else if (!value.get<std::string>().empty()) {
      pairs.emplace_back(name, value.get<std::string>());
    }
  }
  return pairs;
}

}  // namespace lockstep::lab
