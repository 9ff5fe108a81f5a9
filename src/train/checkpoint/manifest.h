#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// One rank's file. The header holds the checksums of the data, so that this is all that says whether it is the one.
struct ShardRecord {
  std::string file;  ///< its name in the checkpoint's folder
  std::uint64_t bytes = 0;
  std::string header_checksum;
};

/// What is written last into a checkpoint.
struct Manifest {
  std::int64_t iteration = 0;
  std::vector<ShardRecord> shards;  ///< by rank
  std::map<std::string, std::string> values;
};

inline constexpr const char* kManifestFile = "manifest.json";

/// JSON that ends with its own checksum.
std::string to_text(const Manifest& manifest);
/// Throws Error (kInvalidArgument) that names `path` if the text was changed in any way, or is no manifest.
Manifest parse_manifest(std::string_view text, const std::string& path);

}  // namespace lockstep
