#pragma once

#include "base/sanitizers_for_tests.h"

#include <sys/resource.h>

namespace lockstep::testing_support {

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
