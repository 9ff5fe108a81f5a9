#include "bench/rounds.h"

#include "base/clock.h"
#include "planner/one_host/timed_batch.h"

#include <algorithm>
#include <chrono>

namespace lockstep::bench {

std::size_t run_round(Subject& subject, Operands& operands, const Round& round, std::vector<double>& seconds) {
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
  return round.iterations + uncounted;
}

std::size_t choose_batch(double seconds_an_operation, const Layout& layout) {
  return std::min(operations_a_batch(seconds_an_operation), layout.operations());
}

std::size_t batch_beside(std::size_t fastest, std::size_t own, double seconds_an_operation) {
  constexpr double kLong = 5e-3;
  if (static_cast<double>(fastest) * seconds_an_operation <= kLong) return fastest;
  return std::clamp(static_cast<std::size_t>(kLong / seconds_an_operation), own, fastest);
}

std::size_t find_batch(const Layout& layout, const std::function<double(std::size_t batch)>& seconds_in) {
  return choose_batch(seconds_in(choose_batch(seconds_in(1), layout)), layout);
}

std::vector<std::size_t> order_of_round(std::size_t round, std::size_t subjects) {
  std::vector<std::size_t> order;
  order.reserve(subjects);
  for (std::size_t turn = 0; turn < subjects; ++turn) {
    const std::size_t steps = round % 2 == 0 ? turn : subjects - turn;
    order.push_back((round + steps) % subjects);
  }
  return order;
}

}  // namespace lockstep::bench
