#include "tests/style/rules.h"

#include <regex>

namespace lockstep::style {
namespace {

/// "src/base/clock.h:12: <text>"
std::string at(const SourceFile& file, std::size_t line_index, const std::string& text) {
  return file.path + ":" + std::to_string(line_index + 1) + ": " + text;
}

/// Calls visit(file, line index, match) for each line in which `pattern` is found.
template <class Visit>
void for_each_match(const std::vector<SourceFile>& files, const std::regex& pattern, const Visit& visit) {
  for (const SourceFile& file : files) {
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::smatch match; std::regex_search(file.lines[i], match, pattern)) visit(file, i, match);
    }
  }
}

}  // namespace

Violations wrong_includes(const std::vector<SourceFile>& files, const LayerArrows& arrows) {
  static const std::regex kOwnInclude(R"(^\s*#\s*include\s+"([a-z_]+)/)");
  Violations found;
  for_each_match(files, kOwnInclude, [&](const SourceFile& file, std::size_t line, const std::smatch& match) {
    const std::string layer = layer_of(file.path);
    const std::string included = match[1];
    if (layer.empty() || layer == included) return;
    const auto allowed = arrows.find(layer);
    if (allowed == arrows.end()) {
      found.push_back(at(file, line, "the layer " + layer + " is not in the list of arrows"));
    } else if (!allowed->second.contains(included)) {
      found.push_back(at(file, line, "the layer " + layer + " may not include " + included));
    }
  });
  return found;
}

Violations torch_includes(const std::vector<SourceFile>& files, const std::set<std::string>& allowed_layers,
                          const std::set<std::string>& allowed_headers) {
  static const std::regex kTorchInclude(R"(^\s*#\s*include\s+[<"](torch|ATen|c10|caffe2)/)");
  Violations found;
  for_each_match(files, kTorchInclude, [&](const SourceFile& file, std::size_t line, const std::smatch&) {
    if (allowed_layers.contains(layer_of(file.path)) || allowed_headers.contains(file.path)) return;
    found.push_back(at(file, line, "libtorch stays above lockstep::comm"));
  });
  return found;
}

Violations named_algorithms(const std::vector<SourceFile>& files, const std::set<std::string>& algorithms) {
  std::string names;
  for (const std::string& name : algorithms) names += (names.empty() ? "" : "|") + name;
  Violations found;
  for_each_match(files, std::regex("\\b(" + names + ")\\b"),
                 [&](const SourceFile& file, std::size_t line, const std::smatch& match) {
                   found.push_back(at(file, line, "names the algorithm '" + match.str(1) + "'"));
                 });
  return found;
}

Violations long_files(const std::vector<SourceFile>& files, std::size_t most_lines) {
  Violations found;
  for (const SourceFile& file : files) {
    if (file.lines.size() <= most_lines) continue;
    found.push_back(file.path + ": " + std::to_string(file.lines.size()) + " lines, of at most " +
                    std::to_string(most_lines));
  }
  return found;
}

Violations unfinished_marks(const std::vector<SourceFile>& files) {
  static const std::regex kMarks(
      "\\b(TO"
      "DO|FIX"
      "ME|XX"
      "X|HA"
      "CK)\\b");  // in halves, since this file is read too
  Violations found;
  for_each_match(files, kMarks, [&](const SourceFile& file, std::size_t line, const std::smatch& match) {
    found.push_back(at(file, line, match.str(1)));
  });
  return found;
}

Violations untested_sources(const std::vector<SourceFile>& files, const std::map<std::string, std::string>& without) {
  std::set<std::string> paths;
  for (const SourceFile& file : files) paths.insert(file.path);

  Violations found;
  std::map<std::string, std::string> unused = without;
  for (const std::string& path : paths) {
    if (layer_of(path).empty() || !path.ends_with(".cpp") || path.ends_with("_test.cpp")) continue;
    const std::string test = path.substr(0, path.size() - std::string(".cpp").size()) + "_test.cpp";
    if (paths.contains(test)) continue;
    const std::string folder = path.substr(0, path.rfind('/') + 1);
    if (!without.contains(path) && !without.contains(folder)) found.push_back(path + ": has no " + test);
    unused.erase(without.contains(path) ? path : folder);
  }
  for (const auto& [path, reason] : unused)
    found.push_back(path + ": is listed as untested, but is tested or not there");
  for (const auto& [path, reason] : without) {
    if (reason.empty()) found.push_back(path + ": is listed as untested with no reason");
  }
  return found;
}

}  // namespace lockstep::style
