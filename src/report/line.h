#pragma once

#include "report/record.h"

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// A piece of a line on a terminal.
struct Field {
  std::string text;
  std::string brief;             ///< stands for `text` where the line would be too long
  int importance = 0;            ///< the least important go first where even that is too long
  std::string_view colour = {};  ///< parameters of an SGR escape ("1;32"); empty for none
};

std::vector<Field> iteration_fields(const IterationRecord& record, const std::string& item = "tokens");

/// What follows them with --log-sync: "  communication 3.3 ms  exposed 0.8 ms  hidden 2.5 ms".
std::vector<Field> sync_fields(const IterationRecord& record);

/// The fields, `gap` spaces apart; with escape codes if `coloured`.
std::string join(const std::vector<Field>& fields, std::size_t gap = 2, bool coloured = false);

/// A line of at most so many columns: the fields in full where they fit, else brief and close together, else without
/// the least important ones.
std::string fit(std::vector<Field> fields, std::size_t columns, bool coloured = false);

/// `text` between escape codes.
std::string colour(std::string_view text, std::string_view sgr);

}  // namespace lockstep
