#include "lab/together.h"

#include <limits>

namespace lockstep::lab {

namespace {

// A failure as a number of which the lowest rank's is the smallest.
constexpr std::int64_t kAllWell = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kExitCodes = 256;

}  // namespace

int exit_code_of(const std::exception& error) {
  if (const auto* elsewhere = dynamic_cast<const FailedElsewhere*>(&error)) return elsewhere->exit_code();
  const auto* ours = dynamic_cast<const Error*>(&error);
  return ours != nullptr && ours->code() == ErrorCode::kInvalidArgument ? 2 : 1;
}

void together(const Group& group, const std::function<void()>& work) {
  std::exception_ptr error;
  std::int64_t mine = kAllWell;
  try {
    work();
  } catch (const std::exception& caught) {
    error = std::current_exception();
    mine = group.rank() * kExitCodes + exit_code_of(caught);
  }
  std::int64_t first = mine;
  group.all_reduce(buffer_of(&first, 1), ReduceOp::kMin, {.purpose = "did any rank fail"}).wait();
  if (first == kAllWell) return;
  if (first == mine) std::rethrow_exception(error);
  // The one that failed speaks first: a launcher stops everybody as soon as one has ended. This ends when it has left.
  try {
    group.barrier({.purpose = "another rank failed"}).wait();
  } catch (const Error&) {
  }
  throw FailedElsewhere(static_cast<int>(first % kExitCodes));
}

}  // namespace lockstep::lab
