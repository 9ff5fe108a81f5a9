#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "base/digest.h"

namespace lockstep {

/// Which operations a rank has started, in their order, as a number. Operations of equal size on different parameters
/// go together without anybody noticing: ranks compare this where they meet anyway.
class Sequence {
 public:
  /// Text in which a maximum of all ranks' bytes tells whether they are the same.
  using Said = std::array<std::uint8_t, 16>;

  void note(std::string_view operation, std::string_view of) {
    digest_ = (digest_ * kOdd + digest_of(operation)) * kOdd + digest_of(of);
  }
  void note(const Sequence& other) { digest_ = digest_ * kOdd + other.digest_; }

  /// The number's bytes, then what they lack of 255.
  Said said() const {
    Said said{};
    for (std::size_t i = 0; i < said.size(); ++i) {
      const auto byte = static_cast<std::uint8_t>(digest_ >> (8 * (i % 8)));
      said[i] = i < 8 ? byte : static_cast<std::uint8_t>(~byte);
    }
    return said;
  }

 private:
  static constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15;
  std::uint64_t digest_ = 0;
};

}  // namespace lockstep
