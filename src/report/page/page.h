#pragma once

#include <string_view>

namespace lockstep {

/// The pages of a training's report and of an experiment: style and script inlined, with {{title}} (HTML) and {{data}}
/// (JSON within a script element) to be filled in by fill_page.
extern const std::string_view kReportPage;
extern const std::string_view kLabPage;

}  // namespace lockstep
