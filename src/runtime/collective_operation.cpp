#include "runtime/collective_operation.h"

#include "kernels/reduce.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace lockstep {

CollectiveOperation::CollectiveOperation(Transport& transport, Request request)
    : transport_(transport),
      request_(std::move(request)),
      partition_(request_.announcement.collective, request_.announcement.dtype, request_.announcement.count,
                 request_.plan->chunks),
      offsets_(static_cast<std::size_t>(transport.size())) {}

void CollectiveOperation::enter() {
  entered_ = true;
  deadline_ = std::chrono::steady_clock::now() + request_.timeout;
  offsets_[static_cast<std::size_t>(transport_.rank())] = request_.announcement.offset;
  transport_.announce(request_.announcement);
  transport_.signal(progress_at(request_.plan->finished_before(0)));
}

bool CollectiveOperation::advance() {
  if (!entered_) enter();
  const Plan& plan = *request_.plan;
  while (position_ < plan.steps.size()) {
    if (!satisfied(plan.steps[position_].before)) return false;
    carry_out(plan.steps[position_]);
    transport_.signal(progress_at(plan.finished_before(++position_)));
  }
  return satisfied(plan.after);
}

bool CollectiveOperation::satisfied(const std::vector<Plan::Wait>& waits) {
  for (const Plan::Wait& wait : waits) {
    const Progress progress = transport_.progress_of(wait.peer);
    if (progress.sequence >= request_.announcement.sequence) check_agreement(wait.peer);
    if (progress < progress_at(wait.steps)) {
      blocked_on_ = wait;
      return false;
    }
  }
  blocked_on_.reset();
  return true;
}

void CollectiveOperation::check_agreement(int peer) {
  auto& offset = offsets_[static_cast<std::size_t>(peer)];
  if (offset) return;
  const auto theirs = transport_.announcement_of(peer, request_.announcement.sequence);
  // A peer so far ahead that its announcement is gone has needed nothing from here but what this rank has given.
  if (!theirs) return;
  if (!theirs->agrees_with(request_.announcement)) throw_mismatch();
  offset = theirs->offset;
}

void CollectiveOperation::carry_out(const Plan::Step& step) {
  for (const Plan::Move& move : step.moves) {
    carry_out(move);
    if (!request_.recorder) continue;
    for (const int source : move.sources) {
      request_.recorder({step.index, {move.kind, move.chunk, source, transport_.rank()}});
    }
  }
}

void CollectiveOperation::carry_out(const Plan::Move& move) {
  const std::size_t count = partition_.size(move.chunk);
  if (count == 0) return;
  void* target = chunk_of(transport_.rank(), move.chunk);
  if (move.kind == TransferKind::kCopy) {
    std::memcpy(target, chunk_of(move.sources.front(), move.chunk), count * size_of(request_.announcement.dtype));
    return;
  }
  // In the order of the ranks, this one at its own place.
  std::vector<int> ranks = move.sources;
  ranks.push_back(transport_.rank());
  std::sort(ranks.begin(), ranks.end());
  std::vector<const void*> operands;
  operands.reserve(ranks.size());
  for (const int rank : ranks) operands.push_back(chunk_of(rank, move.chunk));
  const bool divides = move.finishes && request_.announcement.op == ReduceOp::kMean;
  kernels::reduce({.targets = &target,
                   .target_count = 1,
                   .operands = operands.data(),
                   .operand_count = operands.size(),
                   .count = count,
                   .dtype = request_.announcement.dtype,
                   .op = request_.announcement.op,
                   .divide_by = divides ? transport_.size() : 1});
}

std::byte* CollectiveOperation::chunk_of(int rank, int chunk) const {
  const std::uint64_t offset = offsets_[static_cast<std::size_t>(rank)].value();
  return transport_.memory_of(rank, offset) + partition_.begin(chunk) * size_of(request_.announcement.dtype);
}

void CollectiveOperation::wait_for_peer() {
  if (!blocked_on_) return;
  // First for the peer to enter the operation, so that disagreement is seen although the peer will come no further.
  for (const int steps : {0, blocked_on_->steps}) {
    if (!transport_.wait_for(blocked_on_->peer, progress_at(steps), deadline_)) throw_timeout();
    check_agreement(blocked_on_->peer);
  }
}

void CollectiveOperation::throw_mismatch() const {
  std::map<std::string, std::vector<int>> asked;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    const auto announced = transport_.announcement_of(peer, request_.announcement.sequence);
    asked[announced ? announced->describe() : "not there yet"].push_back(peer);
  }
  std::string who;
  for (const auto& [what, ranks] : asked) {
    who += fmt::format("{}rank{} {}: {}", who.empty() ? "" : "; ", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                       what);
  }
  throw Error(ErrorCode::kMismatch, fmt::format("the ranks disagree about what it is ({})", who),
              {.rank = transport_.rank()});
}

void CollectiveOperation::throw_timeout() const {
  std::vector<int> absent;
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (transport_.progress_of(peer).sequence < request_.announcement.sequence) absent.push_back(peer);
  }
  const double seconds = static_cast<double>(request_.timeout.count()) / 1000;
  const std::string where = absent.empty() ? "which entered it and went no further" : "which did not come to it";
  if (absent.empty()) absent.push_back(blocked_on_->peer);
  throw Error(ErrorCode::kTimeout,
              fmt::format("rank {} waited {} s for rank{} {}, {}", transport_.rank(), seconds,
                          absent.size() == 1 ? "" : "s", fmt::join(absent, ", "), where),
              {.rank = transport_.rank(), .peer = absent.front()});
}

Error CollectiveOperation::explain(const Error& error) const {
  const Announcement& what = request_.announcement;
  const std::string purpose = request_.purpose.empty() ? "" : fmt::format(", {}", request_.purpose);
  return {error.code(),
          fmt::format("Rank {}: {} #{}{}: {}.", transport_.rank(), to_string(what.collective), what.sequence, purpose,
                      error.what()),
          {.rank = transport_.rank(),
           .peer = error.peer(),
           .operation = std::string(to_string(what.collective)),
           .sequence = what.sequence,
           .purpose = request_.purpose}};
}

}  // namespace lockstep
