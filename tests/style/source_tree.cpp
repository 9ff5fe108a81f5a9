#include "tests/style/source_tree.h"

#include <algorithm>
#include <fstream>
#include <stdexcept>

namespace lockstep::style {
namespace {

namespace fs = std::filesystem;

bool ends_with_one_of(const std::string& name, const std::vector<std::string>& endings) {
  return std::any_of(endings.begin(), endings.end(), [&](const std::string& ending) { return name.ends_with(ending); });
}

std::vector<std::string> read_lines(const fs::path& path) {
  std::ifstream stream(path);
  if (!stream) throw std::runtime_error("cannot read " + path.string());
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

}  // namespace

std::vector<SourceFile> read_tree(const fs::path& root, const std::vector<std::string>& folders,
                                  const std::vector<std::string>& endings) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    for (const auto& entry : fs::recursive_directory_iterator(root / folder)) {
      if (!entry.is_regular_file() || !ends_with_one_of(entry.path().filename().string(), endings)) continue;
      files.push_back({fs::relative(entry.path(), root).generic_string(), read_lines(entry.path())});
    }
  }
  std::sort(files.begin(), files.end(), [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

std::string layer_of(const std::string& path) {
  const std::string prefix = "src/";
  if (!path.starts_with(prefix)) return "";
  const std::size_t end = path.find('/', prefix.size());
  return end == std::string::npos ? "" : path.substr(prefix.size(), end - prefix.size());
}

}  // namespace lockstep::style
