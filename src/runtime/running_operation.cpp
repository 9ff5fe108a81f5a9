#include "runtime/running_operation.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include "base/sentence.h"

#include <utility>

namespace lockstep {

void RunningOperation::begin(const Call& call, std::uint64_t sequence, const Past& past) {
  call_ = &call;
  deadline_.start(call.timeout);
  announcement_.sequence = sequence;
  past_ = past;
  announcement_.fingerprint = fingerprint_behind(past.fingerprint, fingerprint_);
  announcement_.recent = past.recent;
  entered_ = false;
}

bool RunningOperation::advance() {
  if (!entered_) enter();
  entered_ = true;
  return go_on();
}

void RunningOperation::record(const Plan::Move& move, int step, int rank) const {
  const TransferKind kind = move.operands.size() > 1 ? TransferKind::kReduce : TransferKind::kCopy;
  for (const Plan::Place& operand : move.operands) {
    if (operand.rank != rank) record({step, {kind, move.chunk, operand.rank, rank}});
  }
  for (const Plan::Place& target : move.targets) {
    if (target.rank != rank) record({step + 1, {TransferKind::kCopy, move.chunk, rank, target.rank}});
  }
}

void RunningOperation::throw_late(int rank, const std::vector<int>& awaited, const char* what) const {
  throw Error(
      ErrorCode::kTimeout,
      fmt::format("rank {} waited {} s for rank{} {}, {}", rank, static_cast<double>(call_->timeout.count()) / 1000,
                  awaited.size() == 1 ? "" : "s", fmt::join(awaited, ", "), what),
      {.rank = rank, .peer = awaited.empty() ? -1 : awaited.front()});
}

ErrorScene scene_of(const RunningOperation& operation, int rank, std::string group) {
  const Announcement& what = operation.announcement();
  return {.rank = rank,
          .group = std::move(group),
          .operation = std::string(to_string(what.collective)),
          .detail = {},
          .sequence = what.sequence,
          .purpose = operation.call().purpose};
}

Error explain(const ErrorScene& scene, const Error& error) {
  return {error.code(),
          fmt::format("Rank {}{}{}: {} #{}{}{}{}: {}", scene.rank, scene.group.empty() ? "" : " of ", scene.group,
                      scene.operation, scene.sequence, scene.detail, scene.purpose.empty() ? "" : ", ", scene.purpose,
                      with_full_stop(error.what())),
          {.rank = scene.rank,
           .peer = error.peer(),
           .operation = scene.operation,
           .sequence = scene.sequence,
           .purpose = scene.purpose}};
}

}  // namespace lockstep
