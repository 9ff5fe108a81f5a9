#pragma once

#include <sys/resource.h>

namespace lockstep::testing_support {

/// Whether a test may leave its process without descriptors, and why not: UBSan opens a pipe to see whether it may read
/// an object, and calls the object invalid where it cannot.
#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kDescriptorsCanBeDenied = false;
#else
inline constexpr bool kDescriptorsCanBeDenied = true;
#endif
inline constexpr const char* kWhyNotDenied = "the sanitizers need descriptors themselves";

/// One of this process's limits, lower for as long as it lives.
class Limit {
 public:
  Limit(__rlimit_resource resource, rlim_t value) : resource_(resource) {
    ::getrlimit(resource_, &before_);
    const rlimit lower{value, before_.rlim_max};
    ::setrlimit(resource_, &lower);
  }
  ~Limit() { ::setrlimit(resource_, &before_); }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

}  // namespace lockstep::testing_support
