#pragma once

#include <torch/types.h>

#include <sstream>
#include <string>
#include <type_traits>

namespace lockstep {

/// What an optimizer's `state()` finds a parameter's state by: text in libtorch 1.13, an address in newer ones.
template <class Map>
typename Map::key_type key_in(const Map&, const torch::Tensor& parameter) {
  void* address = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    std::ostringstream text;
    text << address;
    return text.str();
  } else {
    return address;
  }
}

}  // namespace lockstep
