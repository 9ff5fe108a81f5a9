#pragma once

#include <string_view>

namespace lockstep::fuzz {

/// Reads `file` as a safetensors file, and writes the header of what is read. Ends the process where a promise does not
/// hold: what is refused is refused with a sentence that names the file, what is read fills the file and comes back as
/// it was written.
void read_and_write_header(std::string_view file);

}  // namespace lockstep::fuzz
