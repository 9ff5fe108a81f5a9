#include "launch/outcome.h"

#include <signal.h>

#include <algorithm>

namespace lockstep {

namespace {

// Ranks whose ends lie so near together may have been seen in the wrong order.
constexpr std::chrono::milliseconds kTogether{200};

/// Ended by a signal that no peer's death causes. SIGABRT is what an uncaught exception becomes, so it may be an echo.
bool is_a_cause(const RankOutcome& rank) { return rank.signal != 0 && rank.signal != SIGABRT; }

}  // namespace

// When a rank dies its peers fail too, often within a millisecond: a connection breaks while the kernel is still
// tidying up after the one that crashed (a core takes it long). So the first that we saw is the first to fail, unless
// one that was killed by a signal follows at once: that is no consequence, but the cause.
std::optional<int> first_failure(const JobOutcome& job) {
  std::vector<int> failed;
  for (int rank = 0; rank < std::ssize(job.ranks); ++rank) {
    const RankOutcome& outcome = job.ranks[static_cast<std::size_t>(rank)];
    if (outcome.failed() && outcome.stop == RankOutcome::Stop::kNone) failed.push_back(rank);
  }
  if (failed.empty()) return std::nullopt;
  const auto outcome = [&](int rank) -> const RankOutcome& { return job.ranks[static_cast<std::size_t>(rank)]; };
  std::stable_sort(failed.begin(), failed.end(), [&](int a, int b) { return outcome(a).ended < outcome(b).ended; });
  const auto deadline = outcome(failed.front()).ended + kTogether;
  const auto cause = std::find_if(failed.begin(), failed.end(), [&](int rank) {
    return is_a_cause(outcome(rank)) && outcome(rank).ended <= deadline;
  });
  return cause != failed.end() ? *cause : failed.front();
}

int exit_code(const JobOutcome& job) {
  if (const auto first = first_failure(job)) {
    const RankOutcome& outcome = job.ranks[static_cast<std::size_t>(*first)];
    return outcome.signal != 0 ? 128 + outcome.signal : outcome.code;
  }
  return job.interrupted_by != 0 ? 128 + job.interrupted_by : 0;
}

}  // namespace lockstep
