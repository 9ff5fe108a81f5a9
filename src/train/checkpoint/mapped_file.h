#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <string_view>

namespace lockstep {

/// A file's bytes in memory, read when touched. Writing into them changes the memory of this process, never the file.
/// The mapping lives as long as a copy of `owner` does. A file that somebody shortens in place meanwhile is a SIGBUS:
/// replace files by renaming, as everything here does.
struct MappedFile {
  std::shared_ptr<void> owner;
  std::size_t size = 0;

  std::string_view bytes() const { return {static_cast<const char*>(owner.get()), size}; }
};

/// Throws Error (kIo) with the path and the reason.
MappedFile map_file(const std::filesystem::path& path);

}  // namespace lockstep
