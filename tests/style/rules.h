#pragma once

#include "tests/style/source_tree.h"

#include <map>
#include <set>
#include <string>
#include <vector>

/// The rules of the house that no compiler knows. Each takes files and returns what is wrong, a line each, empty when
/// nothing is.
namespace lockstep::style {

using Violations = std::vector<std::string>;

/// Which layers each layer may include; itself it always may.
using LayerArrows = std::map<std::string, std::set<std::string>>;

/// Includes that the arrows do not allow, and layers that the arrows do not know.
Violations wrong_includes(const std::vector<SourceFile>& files, const LayerArrows& arrows);

/// Includes of libtorch outside of the layers and public headers that may.
Violations torch_includes(const std::vector<SourceFile>& files, const std::set<std::string>& allowed_layers,
                          const std::set<std::string>& allowed_headers);

/// The names of algorithms that stand in these files as whole words.
Violations named_algorithms(const std::vector<SourceFile>& files, const std::set<std::string>& algorithms);

Violations long_files(const std::vector<SourceFile>& files, std::size_t most_lines);

/// Marks of unfinished work.
Violations unfinished_marks(const std::vector<SourceFile>& files);

/// Sources under src/ with no test beside them. `without` lists those that need none, with the reason; an entry that
/// names no such source is wrong too.
Violations untested_sources(const std::vector<SourceFile>& files, const std::map<std::string, std::string>& without);

}  // namespace lockstep::style
