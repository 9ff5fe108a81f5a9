#include "train/batch_moments.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "train/batch_share.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

std::vector<std::int64_t> all_but_channels(const torch::Tensor& values) {
  std::vector<std::int64_t> dimensions(static_cast<std::size_t>(values.dim()));
  std::iota(dimensions.begin(), dimensions.end(), 0);
  dimensions.erase(dimensions.begin() + 1);
  return dimensions;
}

}  // namespace

torch::Tensor along_channels(const torch::Tensor& values, const torch::Tensor& like) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(like.dim()), 1);
  shape[1] = values.numel();
  return values.reshape(shape);
}

torch::Tensor sum_by_channel(const torch::Tensor& values) { return values.sum(all_but_channels(values)); }

BatchMoments moments_of_all(const torch::Tensor& input, const Group& group) {
  torch::NoGradGuard no_grad;
  const std::int64_t channels = input.size(1);
  const auto& share = group.attribute<BatchShare>();
  const bool counts = input.numel() > 0 && (share.global == 0 || share.local > 0);

  // A row a rank: its count, means, and sums of squared distances from them.
  auto rows = torch::zeros({group.size(), 1 + 2 * channels}, torch::kFloat64);
  if (counts) {
    const auto type = input.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
    const auto [variance, mean] = torch::var_mean(input.to(type), all_but_channels(input), /*unbiased=*/false);
    const double count = static_cast<double>(input.numel()) / static_cast<double>(channels);
    rows[group.rank()] = torch::cat(
        {torch::full({1}, count, torch::kFloat64), mean.to(torch::kFloat64), variance.to(torch::kFloat64) * count});
  }
  group.all_gather(buffer_of(rows), {.purpose = "statistics of a SyncBatchNorm"}).wait();

  const auto counts_of_ranks = rows.narrow(1, 0, 1);
  const auto means = rows.narrow(1, 1, channels);
  const auto squares = rows.narrow(1, 1 + channels, channels);
  BatchMoments moments;
  moments.count = counts_of_ranks.sum().item<double>();
  if (moments.count < 2) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("SyncBatchNorm was given {:.0f} value a channel on all ranks together, which have no "
                            "variance: use larger batches, or evaluation mode.",
                            moments.count));
  }
  moments.mean = (means * counts_of_ranks).sum(0) / moments.count;
  moments.variance = (squares + (means - moments.mean).square() * counts_of_ranks).sum(0) / moments.count;
  return moments;
}

}  // namespace lockstep
