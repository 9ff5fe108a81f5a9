#pragma once

#include "planner/one_host/sample.h"
#include "planner/one_host/tcp_costs.h"
#include "planner/one_host/tcp_work.h"

#include <vector>

namespace lockstep {

/// What ranks of one host cost that talk over TCP. There is no wire between them: each message and each byte is work of
/// the host's cores, which ranks share. So the time of a collective is what its plans make the cores do
/// (planner/one_host/tcp_work.h), times the seconds that each of it takes. Links between hosts are another matter
/// (flat_network(), measured_link()).
struct TcpModel {
  TcpCosts seconds;
  int cores = 1;       ///< of the host
  int most_ranks = 0;  ///< that were measured

  /// Whether so many ranks were measured, or fewer and more.
  bool knows(int ranks) const { return 2 <= ranks && ranks <= most_ranks; }
  /// The seconds that it takes on buffers of so many bytes.
  double predict(const TcpJob& job, double bytes) const;
};

/// The model that fits best (fit_costs()) what was measured on so many cores. Throws Error (kInvalidArgument) without
/// samples.
TcpModel fit_tcp(const std::vector<Sample>& samples, int cores);

}  // namespace lockstep
