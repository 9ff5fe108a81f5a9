#include "train/checkpoint/manifest.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <nlohmann/json.hpp>

#include "train/checkpoint/checksum.h"

namespace lockstep {

namespace {

using nlohmann::json;

constexpr const char* kFormat = "lockstep checkpoint 1";

[[noreturn]] void refuse_manifest(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("{} is no manifest of a checkpoint: {}. Load an older checkpoint.", path, why));
}

/// A name of a file in the same folder, and nowhere else.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name != "." && name != "..";
}

Manifest manifest_of(const json& text, const std::string& path) {
  Manifest manifest;
  manifest.iteration = text.at("iteration").get<std::int64_t>();
  manifest.values = text.at("values").get<std::map<std::string, std::string>>();
  for (const json& shard : text.at("shards")) {
    manifest.shards.push_back({shard.at("file").get<std::string>(), shard.at("bytes").get<std::uint64_t>(),
                               shard.at("header_checksum").get<std::string>()});
    if (!is_plain_name(manifest.shards.back().file)) refuse_manifest(path, "it names a file elsewhere");
  }
  if (manifest.shards.empty()) refuse_manifest(path, "it names no files");
  return manifest;
}

}  // namespace

std::string to_text(const Manifest& manifest) {
  json text = {
      {"format", kFormat}, {"iteration", manifest.iteration}, {"shards", json::array()}, {"values", manifest.values}};
  for (const ShardRecord& shard : manifest.shards) {
    text["shards"].push_back(
        {{"file", shard.file}, {"bytes", shard.bytes}, {"header_checksum", shard.header_checksum}});
  }
  text["checksum"] = checksum(text.dump());
  return text.dump(2) + "\n";
}

Manifest parse_manifest(std::string_view content, const std::string& path) {
  try {
    json text = json::parse(content);
    if (text.at("format") != kFormat) refuse_manifest(path, "it is of another version");
    const std::string expected = text.at("checksum").get<std::string>();
    text.erase("checksum");
    if (checksum(text.dump()) != expected) {
      refuse_manifest(path, "its checksum is not that of its content, so it is damaged");
    }
    return manifest_of(text, path);
  } catch (const json::exception&) {
    refuse_manifest(path, "it is cut short or damaged");
  }
}

}  // namespace lockstep
