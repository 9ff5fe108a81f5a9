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

std::vector<Field> iteration_fields(const IterationRecord& record);

/// The fields, two spaces apart; with escape codes if `coloured`.
std::string join(const std::vector<Field>& fields, bool coloured = false);

/// The fields that stand on a line of so many columns, shortened and dropped until they do.
std::vector<Field> fit(std::vector<Field> fields, std::size_t columns);

/// `text` between escape codes.
std::string colour(std::string_view text, std::string_view sgr);

}  // namespace lockstep
