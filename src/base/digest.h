#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// FNV-1a of 64 bits: the same in every build and on every host, which std::hash is not. Against chance, not malice.
constexpr std::uint64_t digest_of(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

}  // namespace lockstep
