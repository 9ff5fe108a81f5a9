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

void RunningOperation::throw_late(int rank, const std::vector<int>& awaited, const char* what) const {
  throw Error(
      ErrorCode::kTimeout,
      fmt::format("rank {} waited {} s for rank{} {}, {}", rank, static_cast<double>(call_->timeout.count()) / 1000,
                  awaited.size() == 1 ? "" : "s", fmt::join(awaited, ", "), what),
      {.rank = rank, .peer = awaited.empty() ? -1 : awaited.front()});
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
