#include "bench/row.h"

#include "bench/collectives.h"
#include "bench/statistics.h"

namespace lockstep::bench {

namespace {

std::uint64_t sum(const World& world, std::uint64_t value) {
  auto number = static_cast<std::int64_t>(value);
  world.all_reduce(buffer_of(&number, 1)).wait();
  return static_cast<std::uint64_t>(number);
}

}  // namespace

std::vector<double> slowest(const World& world, std::vector<double> values) {
  world.all_reduce(buffer_of(values), ReduceOp::kMax).wait();
  return values;
}

void sum_up(const World& world, const Shape& shape, const RankTimes& times, Row& row) {
  const std::vector<double> seconds = slowest(world, times.seconds);
  row.median_us = median(seconds) * 1e6;
  row.p99_us = percentile(seconds, 0.99) * 1e6;
  row.wrong = sum(world, times.wrong);
  row.iterations = seconds.size();
  const auto in_a_round = static_cast<std::ptrdiff_t>(seconds.size() / times.rounds);
  for (auto start = seconds.begin(); start != seconds.end(); start += in_a_round) {
    row.round_median_us.push_back(median({start, start + in_a_round}) * 1e6);
  }
  row.algbw_gb_per_s = static_cast<double>(row.bytes) / row.median_us / 1e3;
  row.busbw_gb_per_s = row.algbw_gb_per_s * facts_of(shape.collective).bus_factor(shape.ranks);
}

}  // namespace lockstep::bench
