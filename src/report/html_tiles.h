#pragma once

#include "report/html.h"

#include <nlohmann/json.hpp>

namespace lockstep {

/// The figures on top of a report, in order: an array of {"label", "value", "note"}.
nlohmann::ordered_json tiles(const ReportPage& page);

}  // namespace lockstep
