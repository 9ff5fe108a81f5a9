#pragma once

#include <string_view>

namespace lockstep {

/// The report's page, style and script inlined, with {{title}} (HTML) and {{data}} (JSON within a script element) to be
/// filled in.
extern const std::string_view kReportPage;

}  // namespace lockstep
