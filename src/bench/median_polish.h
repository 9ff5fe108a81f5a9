#pragma once

#include <vector>

namespace lockstep::bench {

/// A table of things by rounds as sums of what each thing is and what each round adds to all things, by medians: Tukey,
/// "Exploratory Data Analysis", 1977, chapter 11.
struct Polished {
  std::vector<double> things;  ///< NaN of a thing that is in no round which tells
  std::vector<double> rounds;  ///< their median is 0; NaN of a round with too few things to tell
};

/// `table[thing][round]`, NaN where there is nothing; all rows are of one length.
Polished median_polish(const std::vector<std::vector<double>>& table);

}  // namespace lockstep::bench
