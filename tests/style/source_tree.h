#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::style {

/// A text file of the repository.
struct SourceFile {
  std::string path;  ///< from the root, with '/': "src/base/clock.h"
  std::vector<std::string> lines;
};

/// The files under these folders of `root` whose names end in one of `endings`, in order of their paths.
std::vector<SourceFile> read_tree(const std::filesystem::path& root, const std::vector<std::string>& folders,
                                  const std::vector<std::string>& endings);

/// The layer of a file under src/ ("src/base/clock.h" is of "base"); empty for what is in none.
std::string layer_of(const std::string& path);

}  // namespace lockstep::style
