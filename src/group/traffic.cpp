#include "group/opened.h"

#include <lockstep/traffic.h>

namespace lockstep {

std::uint64_t bytes_sent(const Group& group) { return detail::Opened(group).state().engine().bytes_sent(); }

bool shares_memory(const Group& group) {
  return detail::Opened(group).state().engine().medium() == Medium::kSharedMemory;
}

OperationTotals operations_asked(const Group& group) { return detail::Opened(group).state().totals(); }

}  // namespace lockstep
