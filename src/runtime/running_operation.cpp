#include "runtime/running_operation.h"

#include <fmt/format.h>

namespace lockstep {

Error explain(const RunningOperation& operation, int rank, const Error& error) {
  const Announcement& what = operation.announcement();
  const std::string& purpose = operation.call().purpose;
  return {error.code(),
          fmt::format("Rank {}: {} #{}{}{}: {}.", rank, to_string(what.collective), what.sequence,
                      purpose.empty() ? "" : ", ", purpose, error.what()),
          {.rank = rank,
           .peer = error.peer(),
           .operation = std::string(to_string(what.collective)),
           .sequence = what.sequence,
           .purpose = purpose}};
}

}  // namespace lockstep
