#include "group/group_state.h"

#include <lockstep/traffic.h>

namespace lockstep {

namespace {

/// Reaches what the handles of a group share.
class Opened : public Group {
 public:
  explicit Opened(const Group& group) : Group(group) {}
  detail::GroupState& state() const { return *state_; }
};

}  // namespace

std::uint64_t bytes_sent(const Group& group) { return Opened(group).state().engine().bytes_sent(); }

}  // namespace lockstep
