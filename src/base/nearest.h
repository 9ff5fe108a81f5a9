#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// The candidate with the smallest edit distance (Levenshtein) to `word`; empty if none is near enough to be meant.
std::string nearest(std::string_view word, const std::vector<std::string_view>& candidates);

/// "Did you mean 'ring'?" or, if nothing is near, "Known: direct, ring, tree."
std::string suggestion(std::string_view word, const std::vector<std::string_view>& candidates);

}  // namespace lockstep
