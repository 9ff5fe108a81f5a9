#include "bench/link_cost.h"

#include "base/clock.h"
#include "bench/samples.h"
#include "bench/statistics.h"
#include "group/thread_world.h"
#include "kernels/reduce.h"

#include <lockstep/world.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep::bench {

namespace {

/// The median of some batches; the first is not counted.
double seconds_of(std::size_t batch, const std::function<void()>& f) {
  constexpr std::size_t kBatches = 21;
  std::vector<double> seconds;
  seconds.reserve(kBatches);
  for (std::size_t i = 0; i <= kBatches; ++i) {
    const auto start = Clock::now();
    for (std::size_t k = 0; k < batch; ++k) f();
    if (i > 0) seconds.push_back(milliseconds_since(start) / 1000 / static_cast<double>(batch));
  }
  return median(std::move(seconds));
}

/// Half a round trip.
double message_seconds(const World& world, std::size_t bytes, std::size_t batch) {
  std::vector<std::uint8_t> data(bytes);
  const Buffer buffer = buffer_of(data);
  const int peer = 1 - world.rank();
  return seconds_of(batch,
                    [&] {
                      if (world.rank() == 0) world.send(buffer, peer).wait();
                      world.receive(buffer, peer).wait();
                      if (world.rank() == 1) world.send(buffer, peer).wait();
                    }) /
         2;
}

double seconds_a_reduced_byte() {
  constexpr std::size_t kCount = std::size_t{1} << 16;
  std::vector<float> sum(kCount, 0);
  const std::vector<float> other(kCount, 1);
  void* const target = sum.data();
  const void* const operands[] = {sum.data(), other.data()};
  const double seconds = seconds_of(16, [&] {
    kernels::reduce({.targets = &target,
                     .target_count = 1,
                     .operands = operands,
                     .operand_count = 2,
                     .count = kCount,
                     .dtype = DataType::kFloat32,
                     .op = ReduceOp::kSum});
  });
  return seconds / static_cast<double>(kCount * sizeof(float));
}

}  // namespace

FlatCost measure_link(Medium medium) {
  constexpr std::size_t kLargeBytes = std::size_t{4} << 20;  // beside which alpha is nothing
  FlatCost cost;
  detail::run_threads_uncalibrated(2, medium, [&](World& world) {
    bind_thread(world.rank(), world.size());
    const double small = message_seconds(world, 1, 200);
    const double large = message_seconds(world, kLargeBytes, 1);
    if (world.rank() != 0) return;
    cost = {.alpha_s = small, .beta_s = large / kLargeBytes, .gamma_s = seconds_a_reduced_byte()};
  });
  return cost;
}

}  // namespace lockstep::bench
