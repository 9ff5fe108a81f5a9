#pragma once

#include "base/file_descriptor.h"

#include <sys/mman.h>

#include <cstddef>
#include <type_traits>

namespace lockstep::conformance {

/// Zeros that this process shares with those that it forks from now on, and with its threads.
template <class T>
class SharedArray {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  explicit SharedArray(std::size_t count) : count_(count) {
    void* const memory = ::mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw_system_error("mmap");
    data_ = static_cast<T*>(memory);
  }
  ~SharedArray() { ::munmap(data_, bytes()); }
  SharedArray(const SharedArray&) = delete;
  SharedArray& operator=(const SharedArray&) = delete;

  std::size_t size() const { return count_; }
  T& operator[](std::size_t index) const { return data_[index]; }

 private:
  std::size_t bytes() const { return (count_ + 1) * sizeof(T); }

  std::size_t count_;
  T* data_ = nullptr;
};

}  // namespace lockstep::conformance
