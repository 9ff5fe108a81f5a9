#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>

namespace lockstep::detail {

/// While it lives, what this thread asks of libtorch on the CPU draws random numbers from a generator of its own, as a
/// process of its own would after torch::manual_seed(seed): libtorch's default generator is one for all threads. A
/// generator that is handed to an operation is used as ever; torch::manual_seed changes nothing here. Stays in its
/// thread; not nested.
class ThreadGenerator {
 public:
  explicit ThreadGenerator(std::uint64_t seed);
  ~ThreadGenerator();
  ThreadGenerator(const ThreadGenerator&) = delete;
  ThreadGenerator& operator=(const ThreadGenerator&) = delete;

 private:
  c10::impl::IncludeDispatchKeyGuard intercept_;
};

}  // namespace lockstep::detail
