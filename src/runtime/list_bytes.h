#pragma once

#include <cstddef>

namespace lockstep {

/// What these vectors have taken of memory, beside themselves.
template <class... Lists>
std::size_t bytes_of_lists(const Lists&... lists) {
  return (std::size_t{0} + ... + (lists.capacity() * sizeof(typename Lists::value_type)));
}

}  // namespace lockstep
