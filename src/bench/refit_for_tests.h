#pragma once

#include "algorithms/catalog.h"
#include "bench/refit.h"
#include "planner/one_host/machine_for_tests.h"

#include <utility>
#include <vector>

namespace lockstep::bench {

/// What a byte costs, and what else does.
template <class Costs>
Costs prices_for_tests() {
  Costs seconds;
  seconds.values.fill(1e-10);
  seconds[Costs::kOperation] = 1e-6;
  seconds[Costs::kSwitch] = 2e-6;
  return seconds;
}

inline double in_shared_memory(const Schedule& schedule, double bytes) {
  return HostModel{prices_for_tests<HostCosts>()}.predict(HostJob(schedule), {bytes}, machine_for_tests());
}

inline double over_tcp(const Schedule& schedule, double bytes) {
  return TcpModel{.seconds = prices_for_tests<TcpCosts>(), .cores = 2, .most_ranks = 4}.predict(TcpJob(schedule),
                                                                                                bytes);
}

/// Of 2, 3 and 4 ranks: what `seconds(schedule, bytes)` says.
template <class Seconds>
std::vector<Sample> samples_that_take(const Seconds& seconds) {
  std::vector<Sample> samples;
  for (const char* algorithm : {"naive", "direct", "ring", "tree"}) {
    for (const int ranks : {2, 3, 4}) {
      const Schedule schedule = find_algorithm(algorithm).build({.ranks = ranks});
      for (double bytes = 256; bytes < 1e5; bytes *= 2) {
        for (const double size : {bytes, bytes * 3 / 2}) {
          Sample sample{.algorithm = algorithm, .ranks = ranks, .bytes = size};
          sample.seconds = seconds(schedule, size);
          samples.push_back(sample);
        }
      }
    }
  }
  return samples;
}

inline Calibration calibration_of(std::vector<Sample> in_memory, std::vector<Sample> over_tcp) {
  Calibration calibration{.machine = machine_for_tests()};
  calibration.samples = std::move(in_memory);
  calibration.tcp.samples = std::move(over_tcp);
  return calibration;
}

}  // namespace lockstep::bench
