#pragma once

#include "group/group_state.h"

#include <memory>

namespace lockstep::detail {

/// What Group::split makes of `parent`, whose handle is `group`.
std::shared_ptr<GroupState> split(const Group& group, GroupState& parent, int colour, int key);

}  // namespace lockstep::detail
