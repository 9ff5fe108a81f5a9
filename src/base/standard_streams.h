#pragma once

#include <cstdio>
#include <string_view>

namespace lockstep {

/// What a program does first: opens what is missing of descriptors 0, 1 and 2, so that no file, socket or memory of its
/// own gets such a number, and with it what is printed. Such an input is at its end; writing to such an output fails.
void ensure_standard_descriptors();

/// Text on stdout, as it is, behind what is still in its buffer. Throws Error (kIo) where not all of it could be
/// written.
void write_to_stdout(std::string_view text);

/// The columns of the terminal that a stream is; 0 where it is none, or one that does not say.
int terminal_width(std::FILE* stream);

/// Text on stderr, as it is. Where that cannot be written there is nobody to say so to: the exit code tells.
void say_error(std::string_view text) noexcept;

}  // namespace lockstep
