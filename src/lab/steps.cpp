#include "lab/steps.h"

#include "lab/counter_random.h"
#include "lab/together.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <torch/utils.h>

#include <cmath>

namespace lockstep::lab {

void seed_dropout(std::uint64_t seed, std::int64_t iteration, int rank) {
  torch::manual_seed(CounterRandom(seed, static_cast<std::uint64_t>(iteration)).bits(~std::uint64_t(rank)));
}

double mean_over_ranks(const Group& group, const torch::Tensor& loss, std::int64_t samples, std::int64_t batch) {
  double sum = samples == 0 ? 0 : loss.item<double>() * static_cast<double>(samples);
  group.all_reduce(buffer_of(&sum, 1), ReduceOp::kSum, {.purpose = "training loss"}).wait();
  return sum / static_cast<double>(batch);
}

void stop_if_diverged(const Group& group, double loss, std::int64_t iteration) {
  if (std::isfinite(loss)) return;  // the same on every rank
  together(group, [&] {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("The loss of iteration {} is not a finite number, so the training was stopped: try a smaller "
                    "--learning-rate or a smaller --clip.",
                    iteration));
  });
}

void check_algorithm(const Group& group, const std::string& algorithm) {
  together(group, [&] {
    double nothing = 0;
    group.all_reduce(buffer_of(&nothing, 1), ReduceOp::kSum, {.algorithm = algorithm}).wait();
  });
}

}  // namespace lockstep::lab
