#pragma once

#include <stdlib.h>

#include <lockstep/error.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <system_error>

namespace lockstep {

/// A folder for what only this process needs, gone with the object.
class ScratchFolder {
 public:
  /// Under TMPDIR, else /tmp. Throws Error (kIo) if none can be made there.
  ScratchFolder() {
    std::error_code error;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(error);
    std::string pattern = (parent / "lockstep-XXXXXX").string();
    if (!error && ::mkdtemp(pattern.data()) == nullptr) error.assign(errno, std::generic_category());
    if (error) {
      throw Error(ErrorCode::kIo, "A temporary folder cannot be made (" + error.message() +
                                      "): set TMPDIR to a folder that can be written.");
    }
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
