#pragma once

#include <cstddef>

namespace lockstep {

/// A rank, step or chunk, which is an int and not negative, as an index.
constexpr std::size_t at(int index) { return static_cast<std::size_t>(index); }

}  // namespace lockstep
