#pragma once

#include "bench/comparison/sections.h"

#include <string>

namespace lockstep::compare {

/// An SVG picture: microseconds over bytes, both logarithmic, a line a subject.
std::string plot(const SectionResult& result, const std::string& title);

}  // namespace lockstep::compare
