#include "base/clock.h"
#include "planner/calibration/calibrated_timing.h"
#include "planner/pricing/price.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/link.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace lockstep {

namespace {

constexpr double kSmallBytes = 1 << 10;
constexpr double kLargeBytes = 4 << 20;

/// By the seconds that an all-reduce of so many bytes takes.
Link fitted(int ranks, const std::function<double(double bytes)>& seconds, std::string source) {
  Link link{.source = std::move(source)};
  if (ranks < 2) return link;
  const double messages = 2.0 * (ranks - 1);
  const double small = seconds(kSmallBytes);
  const double large = seconds(kLargeBytes);
  link.beta_s = std::max(0.0, (large - small) / (kLargeBytes - kSmallBytes) * ranks / messages);
  link.alpha_s = std::max(0.0, small / messages - link.beta_s * kSmallBytes / ranks);
  return link;
}

/// The median of so many, of the slowest rank.
double measured_seconds(const Group& group, std::size_t bytes, std::size_t times) {
  const RegisteredMemory memory = group.allocate(bytes);
  const Buffer buffer = buffer_of(static_cast<float*>(memory.data()), bytes / sizeof(float));
  std::fill_n(static_cast<float*>(memory.data()), buffer.count, 1.0F);  // memory that was never written is faster
  const OperationOptions options{.purpose = "what the link costs"};
  group.all_reduce(buffer, ReduceOp::kMean, options).wait();
  std::vector<double> seconds(times);
  for (double& one : seconds) {
    const auto begin = Clock::now();
    group.all_reduce(buffer, ReduceOp::kMean, options).wait();
    one = milliseconds_since(begin) / 1000;
  }
  group.all_reduce(buffer_of(seconds), ReduceOp::kMax, options).wait();
  std::nth_element(seconds.begin(), seconds.begin() + static_cast<std::ptrdiff_t>(times / 2), seconds.end());
  return seconds[times / 2];
}

}  // namespace

Link measured_link(const Group& group) {
  const auto seconds = [&group](double bytes) {
    return measured_seconds(group, static_cast<std::size_t>(bytes), bytes < kLargeBytes ? 21 : 3);
  };
  return fitted(group.size(), seconds, "measured");
}

std::optional<Link> calibrated_link(int ranks) {
  const auto calibration = stored_calibration(this_machine());
  if (!calibration || ranks > kMostSelectedRanks) return std::nullopt;
  const Selection selection = stored_selection(*calibration, ranks);
  const auto seconds = [&](double bytes) {
    const auto algorithm = selection.select(Collective::kAllReduce, static_cast<std::uint64_t>(bytes));
    const PriceRequest request{.collective = Collective::kAllReduce, .ranks = ranks, .bytes = bytes};
    return CalibratedTiming(*calibration, Medium::kSharedMemory, schedule_for(algorithm, request)).seconds({bytes});
  };
  return fitted(ranks, seconds, "calibrated here");
}

Link link_of_topology(std::string_view toml, const std::string& source_name, int ranks) {
  const PricedNetwork network{.description = parse_network(toml, source_name)};
  const auto seconds = [&](double bytes) {
    const PriceRequest request{.collective = Collective::kAllReduce, .ranks = ranks, .bytes = bytes};
    const Price price = price_algorithm("ring", request, network);
    if (price.source != Price::Source::kNone) return price.estimate.seconds;
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("{}: what a link between {} ranks costs there is not known, since a ring of them has no price: "
                    "{}; ask for fewer ranks, or measure it.",
                    source_name, ranks, price.note));
  };
  return fitted(ranks, seconds, source_name);
}

}  // namespace lockstep
