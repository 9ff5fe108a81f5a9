#pragma once

#include "group/group_state.h"

#include <memory>

namespace lockstep::detail {

/// What Group::split makes of `parent`.
std::shared_ptr<GroupState> split(GroupState& parent, int colour, int key);

}  // namespace lockstep::detail
