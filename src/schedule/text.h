#pragma once

#include "schedule/schedule.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace lockstep {

/// The schedule as text that people read and write; parse_schedule gives the same schedule back.
///
///   lockstep-schedule 1
///   name mine
///   collective all_reduce
///   ranks 2
///   chunks 1
///   root 0
///   step
///   reduce 0 from 1 to 0
///   step
///   copy 0 from 0 to 1
///   end
///
/// The number after `copy` or `reduce` is the chunk. Words are parted by spaces, which may also stand before the
/// first. Empty lines and lines whose first word starts with # mean nothing.
/// Throws Error (kInvalidArgument) if the name is not 1 to 80 letters, digits and "_-.:,", or the text would be longer
/// than kMostTextBytes.
std::string to_text(const Schedule& schedule);

/// A longer text is neither written nor read.
inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

/// Reads what to_text writes. The text may be anything: nothing is allocated that its own length does not pay for.
/// Throws Error (kRefused) naming `source_name`, the line's number and what is wrong there. What is read is in range;
/// whether it works is for prove() to say.
Schedule parse_schedule(std::string_view text, std::string_view source_name);

/// The collective of that name. Throws Error (kInvalidArgument) naming the nearest right word.
Collective parse_collective(std::string_view name);

}  // namespace lockstep
