#pragma once

#include "group/group_state.h"

#include <lockstep/group.h>

namespace lockstep::detail {

/// Reaches what the handles of a group share.
class Opened : public Group {
 public:
  explicit Opened(const Group& group) : Group(group) {}
  GroupState& state() const { return *state_; }
};

}  // namespace lockstep::detail
