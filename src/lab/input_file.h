#pragma once

#include <filesystem>
#include <string>

namespace lockstep::lab {

/// A file that the user named: what is wrong with it is an Error (kInvalidArgument) that says which it is.
class InputFile {
 public:
  explicit InputFile(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  /// All of it. Throws Error if it cannot be read.
  std::string content() const;
  /// Throws Error: "<path>: <why>".
  [[noreturn]] void refuse(const std::string& why) const;

 private:
  std::filesystem::path path_;
};

}  // namespace lockstep::lab
