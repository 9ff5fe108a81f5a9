#pragma once

#include "bench/comparison/sections.h"

#include <filesystem>
#include <vector>

namespace lockstep::compare {

/// Writes the page: replaces what stands between its markers, or makes it. A picture goes beside it for each section of
/// many sizes: NAME-SECTION.svg for NAME.md.
void write_report(const std::vector<SectionResult>& results, const std::filesystem::path& page);

}  // namespace lockstep::compare
