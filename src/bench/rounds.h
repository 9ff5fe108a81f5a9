#pragma once

#include "bench/workload.h"

#include <cstddef>
#include <functional>
#include <vector>

namespace lockstep::bench {

/// What is measured: a collective of some library, on this rank.
class Subject {
 public:
  virtual ~Subject() = default;
  /// Returns when all ranks have entered.
  virtual void barrier() = 0;
  /// Runs the collective on this rank's buffer, in place, to its end.
  virtual void run(const Buffer& buffer) = 0;
};

/// Iterations of the same thing. In each, `batch` operations follow each other without a barrier.
struct Round {
  std::size_t iterations = 1;
  std::size_t batch = 1;
};

/// Appends this rank's seconds for an operation, one number an iteration: from after a barrier to after the last
/// operation of the batch, over the batch. Preparing the operands is not in it. docs/design/bench.md says why so.
/// Returns how many iterations it ran, those that are not counted too.
std::size_t run_round(Subject& subject, Operands& operands, const Round& round, std::vector<double>& seconds);

/// Operations an iteration (operations_a_batch()) where each has a buffer of its own: no more than there are.
std::size_t choose_batch(double seconds_an_operation, const Layout& layout);

/// The batch that suits what takes `seconds_in(batch)` an operation. It is asked twice: an operation alone seems to
/// take longer by what the barrier adds.
std::size_t find_batch(const Layout& layout, const std::function<double(std::size_t batch)>& seconds_in);

/// Of a subject whose own batch that would be, beside one of which it is `fastest`: as many, so that what a barrier
/// adds to an operation does not tell them apart, but for a batch of 5 ms, of which a barrier is nothing.
std::size_t batch_beside(std::size_t fastest, std::size_t own, double seconds_an_operation);

/// The order in which so many subjects take turns in that round, counted from 0: each round begins with another, and
/// every second one goes backwards, so that none always follows the same one.
std::vector<std::size_t> order_of_round(std::size_t round, std::size_t subjects);

}  // namespace lockstep::bench
