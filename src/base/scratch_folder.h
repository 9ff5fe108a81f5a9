#pragma once

#include <stdlib.h>

#include "base/file_descriptor.h"

#include <filesystem>
#include <string>
#include <system_error>

namespace lockstep {

/// A folder for what only this process needs, gone with the object.
class ScratchFolder {
 public:
  /// Throws Error (kTransport) if the system gives none.
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw_system_error("Making a temporary folder");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep
