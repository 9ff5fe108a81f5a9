#pragma once

#include <string_view>

namespace lockstep::fuzz {

/// Reads `text` as a schedule, and whatever is read it writes, proves and draws. Ends the process where a promise of
/// theirs does not hold: what is refused is refused with a line's number, what is read comes back as it was written.
void read_prove_and_draw(std::string_view text);

}  // namespace lockstep::fuzz
