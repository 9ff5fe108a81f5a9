#pragma once

#include <cstddef>

namespace lockstep::kernels {

/// std::memcpy in parts, but by vectors where that would go a byte at a time; when `streaming`, past the caches: for a
/// target that nobody reads soon, and as fast as the machine's memory allows.
void copy(void* target, const void* source, std::size_t bytes, bool streaming);

}  // namespace lockstep::kernels
