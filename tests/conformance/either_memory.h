#pragma once

#include <lockstep/group.h>

#include <cstddef>
#include <vector>

namespace lockstep::conformance {

/// Elements in memory from Group::allocate, or any other, among bytes that nobody may touch.
class EitherMemory {
 public:
  EitherMemory(const Group& group, bool registered, std::size_t count, DataType dtype)
      : count_(count), dtype_(dtype), plain_(registered ? 0 : whole()) {
    if (registered) registered_ = group.allocate(whole());
    for (std::size_t i = 0; i < whole(); ++i) begin()[i] = kUntouched;
  }
  EitherMemory(const Group& group, bool registered, const std::vector<unsigned char>& bytes, DataType dtype)
      : EitherMemory(group, registered, bytes.size() / size_of(dtype), dtype) {
    for (std::size_t i = 0; i < bytes.size(); ++i) begin()[kMargin + i] = bytes[i];
  }

  Buffer buffer() { return {begin() + kMargin, count_, dtype_}; }
  /// Whether these are its elements, and nothing around them was written.
  bool holds(const std::vector<unsigned char>& bytes) {
    if (bytes.size() != whole() - 2 * kMargin) return false;
    for (std::size_t i = 0; i < whole(); ++i) {
      const bool inside = i >= kMargin && i - kMargin < bytes.size();
      if (begin()[i] != (inside ? bytes[i - kMargin] : kUntouched)) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t kMargin = 64;
  static constexpr unsigned char kUntouched = 0xEE;

  std::size_t whole() const { return 2 * kMargin + count_ * size_of(dtype_); }
  unsigned char* begin() { return plain_.empty() ? static_cast<unsigned char*>(registered_.data()) : plain_.data(); }

  std::size_t count_;
  DataType dtype_;
  RegisteredMemory registered_;
  std::vector<unsigned char> plain_;
};

}  // namespace lockstep::conformance
