#include "bench/rounds.h"

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace lockstep::bench {

void run_round(Subject& subject, Operands& operands, const Round& round, std::vector<double>& seconds) {
  // Ranks that share cores have to fall into step first: an iteration of short operations, not counted.
  const std::size_t uncounted = round.batch > 1 ? 1 : 0;
  for (std::size_t iteration = 0; iteration < round.iterations + uncounted; ++iteration) {
    operands.prepare(round.batch);
    subject.barrier();
    const auto start = Clock::now();
    for (std::size_t i = 0; i < round.batch; ++i) subject.run(operands.next());
    const std::chrono::duration<double> taken = Clock::now() - start;
    // Who shares this core reads its clock before this rank checks and fills its buffer.
    subject.barrier();
    if (iteration >= uncounted) seconds.push_back(taken.count() / static_cast<double>(round.batch));
  }
}

std::size_t choose_batch(double seconds_an_operation) {
  constexpr double kLongEnough = 200e-6;  // some tens of times what ranks that share cores need to leave a barrier
  constexpr double kMost = 100;
  return static_cast<std::size_t>(
      std::clamp(std::ceil(kLongEnough / std::max(seconds_an_operation, 1e-9)), 1.0, kMost));
}

std::size_t choose_batch(double seconds_an_operation, const Layout& layout) {
  return std::min(choose_batch(seconds_an_operation), layout.operations());
}

}  // namespace lockstep::bench
