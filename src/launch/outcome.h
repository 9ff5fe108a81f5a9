#pragma once

#include "base/clock.h"

#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// How a rank ended.
struct RankOutcome {
  enum class Stop { kNone, kAsked, kKilled };

  int code = 0;    ///< its exit code, if no signal ended it
  int signal = 0;  ///< the signal that ended it
  bool dumped_core = false;
  Stop stop = Stop::kNone;  ///< what we had done to end it, when it ended
  Clock::time_point ended;  ///< when we saw it
  std::vector<std::string> last_lines;

  bool failed() const { return code != 0 || signal != 0; }
};

/// How a job ended.
struct JobOutcome {
  std::vector<RankOutcome> ranks;
  int interrupted_by = 0;  ///< the signal that asked us to end the job, if it came before any failure
  Clock::time_point started;
};

/// The rank that the failure began with; none if none failed before we stopped the job.
std::optional<int> first_failure(const JobOutcome& job);

/// 0, the first failing rank's code, or 128 + the signal that ended it or the job.
int exit_code(const JobOutcome& job);

}  // namespace lockstep
