#pragma once

#include "planner/sample.h"
#include "schedule/schedule.h"

#include <array>
#include <map>
#include <vector>

namespace lockstep {

/// What ranks of one host cost that talk over TCP. There is no wire between them: each message and each byte is work of
/// the host's cores, to which ranks are dealt (topology/dealing.h), so that a collective takes
///
///   steps * step + messages * message + bytes * byte + reduced bytes * reduced byte,
///
/// each of the core that has the most of it: 3 ranks on 2 cores take as long as 4. A message and its bytes are half the
/// sender's work, half the receiver's. `step` is what it takes to wake who waits. Links between hosts are another
/// matter (flat_network(), measured_link()).
struct TcpModel {
  struct Alpha {
    double step_s = 0;
    double message_s = 0;
  };
  /// A byte costs the more the less of the buffers the caches hold; by the whole buffer's bytes, between these sizes by
  /// interpolation over their logarithm.
  static constexpr std::array<double, 4> kSizes{1 << 12, 1 << 18, 1 << 22, 1 << 26};

  /// By ranks; one between has that of its neighbour with as many ranks on a core, else it is found by interpolation.
  std::map<int, Alpha> alpha;
  std::array<double, kSizes.size()> beta_s{};
  double gamma_s = 0;  ///< a byte that is reduced
  int cores = 1;       ///< of the host

  /// Whether ranks were measured of which so many lie between.
  bool knows(int ranks) const;
  /// The seconds that it takes; `ranks` of a schedule that it knows.
  double predict(const Schedule& schedule, double bytes) const;
};

/// The model that fits best (fit_relative()) what was measured on so many cores. Throws Error (kInvalidArgument)
/// without samples.
TcpModel fit_tcp(const std::vector<Sample>& samples, int cores);

}  // namespace lockstep
