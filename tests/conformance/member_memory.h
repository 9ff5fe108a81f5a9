#pragma once

#include "tests/conformance/trial.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace lockstep::conformance {

/// Memory of both kinds that a rank takes its trials' buffers from, large enough for each of the cases.
class MemberMemory {
 public:
  MemberMemory(const Group& group, const std::vector<Case>& cases) {
    std::size_t bytes = 0;
    for (const Case& one : cases) bytes = std::max(bytes, Trial::bytes_for(one));
    registered_ = group.allocate(bytes);
    plain_.resize(bytes / sizeof(std::max_align_t) + 1);
  }
  void* of(const Case& one) { return one.registered ? registered_.data() : plain_.data(); }

 private:
  RegisteredMemory registered_;
  std::vector<std::max_align_t> plain_;
};

}  // namespace lockstep::conformance
