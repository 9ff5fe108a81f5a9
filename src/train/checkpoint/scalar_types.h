#pragma once

#include <c10/core/ScalarType.h>

#include <optional>
#include <string>
#include <string_view>

namespace lockstep::safetensors {

/// The type of torch that a dtype of the format stands for; none if this version of torch has none.
std::optional<c10::ScalarType> scalar_type_of(std::string_view dtype);
/// The format's name of a type of torch; none if the format has none.
std::optional<std::string> dtype_of(c10::ScalarType type);

}  // namespace lockstep::safetensors
