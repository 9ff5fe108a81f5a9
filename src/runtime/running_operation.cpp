#include "runtime/running_operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lockstep {

void RunningOperation::begin(const Call& call, std::uint64_t sequence) {
  call_ = &call;
  deadline_.start(call.timeout);
  announcement_.sequence = sequence;
  entered_ = false;
}

bool RunningOperation::advance() {
  if (!entered_) enter();
  entered_ = true;
  return go_on();
}

void RunningOperation::throw_late(std::vector<int> absent, const std::vector<int>& slow, int rank) const {
  const std::string where = absent.empty() ? "which entered it and went no further" : "which did not come to it";
  if (absent.empty()) absent = slow;
  throw Error(
      ErrorCode::kTimeout,
      fmt::format("rank {} waited {} s for rank{} {}, {}", rank, static_cast<double>(call_->timeout.count()) / 1000,
                  absent.size() == 1 ? "" : "s", fmt::join(absent, ", "), where),
      {.rank = rank, .peer = absent.empty() ? -1 : absent.front()});
}

Error explain(const RunningOperation& operation, int rank, const std::string& group, const Error& error) {
  const Announcement& what = operation.announcement();
  const std::string& purpose = operation.call().purpose;
  return {error.code(),
          fmt::format("Rank {}{}{}: {} #{}{}{}: {}.", rank, group.empty() ? "" : " of ", group,
                      to_string(what.collective), what.sequence, purpose.empty() ? "" : ", ", purpose, error.what()),
          {.rank = rank,
           .peer = error.peer(),
           .operation = std::string(to_string(what.collective)),
           .sequence = what.sequence,
           .purpose = purpose}};
}

}  // namespace lockstep
