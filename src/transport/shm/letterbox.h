#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace lockstep::shm {

/// Messages of a few cache lines that one rank leaves for all others to read. Every line bears the message's stamp, so
/// that a reader looks at nothing else first, and its lines cross to it at once instead of one after the other.
///
/// Two letters have room: number k takes the place of number k - 2, which must have been read by all. Lives in
/// zero-filled memory that all ranks map.
class Letterbox {
 public:
  static constexpr std::size_t kLinePayload = 56;
  static constexpr std::size_t kLines = 19;
  static constexpr std::size_t kBytes = kLines * kLinePayload;

  /// At most kBytes. `stamp` is no letter's before, and not 0.
  void write(std::uint64_t number, std::uint64_t stamp, const std::byte* data, std::size_t bytes);
  /// Whether the letter of that stamp is there; then it is copied to `to`, in whole lines' payloads.
  bool read(std::uint64_t number, std::uint64_t stamp, std::byte* to, std::size_t bytes) const;

 private:
  struct alignas(64) Line {
    std::atomic<std::uint64_t> stamp{0};
    std::array<std::byte, kLinePayload> payload{};
  };
  static constexpr std::size_t lines_of(std::size_t bytes) {
    return bytes == 0 ? 1 : (bytes + kLinePayload - 1) / kLinePayload;
  }

  std::array<std::array<Line, kLines>, 2> letters_;
};

}  // namespace lockstep::shm
