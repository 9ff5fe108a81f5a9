#include "schedule/segmented.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <limits>
#include <utility>

namespace lockstep {

Schedule segmented(const Schedule& schedule, int segments) {
  if (segments < 1 || segments > std::numeric_limits<int>::max() / schedule.chunks) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("The chunks of the schedule '{}' cannot be cut into {} segments each; take a number from 1 up "
                    "that is not larger than a chunk has elements.",
                    schedule.name, segments));
  }
  Schedule pipeline = schedule;
  pipeline.chunks = schedule.chunks * segments;
  if (schedule.steps.empty()) return pipeline;
  const auto delays = static_cast<std::size_t>(segments);
  pipeline.steps = std::vector<Step>(schedule.steps.size() + delays - 1);
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    for (std::size_t j = 0; j < delays; ++j) {
      for (Transfer transfer : schedule.steps[i]) {
        transfer.chunk = transfer.chunk * segments + static_cast<int>(j);
        pipeline.steps[i + j].push_back(transfer);
      }
    }
  }
  return pipeline;
}

}  // namespace lockstep
