// All that the versions of torch have differently about data types.
#include "train/checkpoint/scalar_types.h"

#include <torch/version.h>

#include <utility>

namespace lockstep::safetensors {

namespace {

using c10::ScalarType;

constexpr std::pair<std::string_view, ScalarType> kTypes[] = {
    {"BOOL", ScalarType::Bool},
    {"U8", ScalarType::Byte},
    {"I8", ScalarType::Char},
    {"I16", ScalarType::Short},
    {"I32", ScalarType::Int},
    {"I64", ScalarType::Long},
    {"F16", ScalarType::Half},
    {"F32", ScalarType::Float},
    {"F64", ScalarType::Double},
    {"BF16", ScalarType::BFloat16},
    {"C64", ScalarType::ComplexFloat},
#if TORCH_VERSION_MAJOR >= 2
    {"U16", ScalarType::UInt16},
    {"U32", ScalarType::UInt32},
    {"U64", ScalarType::UInt64},
    {"F8_E5M2", ScalarType::Float8_e5m2},
    {"F8_E4M3", ScalarType::Float8_e4m3fn},
    {"F8_E5M2FNUZ", ScalarType::Float8_e5m2fnuz},
    {"F8_E4M3FNUZ", ScalarType::Float8_e4m3fnuz},
    {"F8_E8M0", ScalarType::Float8_e8m0fnu},
#endif
};

}  // namespace

std::optional<ScalarType> scalar_type_of(std::string_view dtype) {
  for (const auto& [name, type] : kTypes) {
    if (name == dtype) return type;
  }
  return std::nullopt;
}

std::optional<std::string> dtype_of(ScalarType type) {
  for (const auto& [name, known] : kTypes) {
    if (known == type) return std::string(name);
  }
  return std::nullopt;
}

}  // namespace lockstep::safetensors
