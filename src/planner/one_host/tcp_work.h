#pragma once

#include "planner/one_host/tcp_costs.h"
#include "runtime/message_plan.h"
#include "schedule/schedule.h"

#include <vector>

namespace lockstep {

/// A schedule with the plans that run it where ranks talk over TCP, to be priced at any size.
struct TcpJob {
  explicit TcpJob(Schedule of);
  Schedule schedule;
  std::vector<MessagePlan> plans;  ///< by rank, of one piece
};

/// How much of what costs time one operation on buffers of so many bytes has, as `lockstep bench` times it
/// (as_timed()), along the longest chain of what had to wait for what: the plans run on so many cores, of which
/// neighbours share one (TcpTurns). Chunks are cut as they are when it runs (Layout), so that those without bytes send
/// nothing; `seconds`, the price of each cost, says who comes when.
TcpCosts work_of(const TcpJob& job, double bytes, int cores, const TcpCosts& seconds);

}  // namespace lockstep
