#include "train/loader_options.h"

#include <fmt/format.h>
#include <lockstep/loader.h>

#include <limits>

#include "base/refuse.h"
#include "train/replicate.h"

namespace lockstep {
namespace {

constexpr std::int64_t kLongest = std::numeric_limits<std::int32_t>::max();

void check_lengths(std::size_t dataset_size, const std::vector<std::int64_t>& lengths) {
  if (lengths.empty()) return;
  if (lengths.size() != dataset_size) {
    refuse(fmt::format("make_loader was given {} lengths for {} samples: give one for each, or none.", lengths.size(),
                       dataset_size));
  }
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    if (lengths[i] < 1 || lengths[i] > kLongest) {
      refuse(fmt::format("make_loader was told that sample {} has the length {}; lengths are from 1 to {}.", i,
                         lengths[i], kLongest));
    }
  }
}

}  // namespace

Sampler::Options sampler_options(const Group& group, std::size_t dataset_size, const LoaderOptions& options) {
  if (dataset_size == 0) refuse("make_loader was given a dataset with no samples.");
  if ((options.global_batch > 0) == (options.per_rank_batch > 0) || options.global_batch < 0 ||
      options.per_rank_batch < 0) {
    refuse(fmt::format("make_loader needs either global_batch or per_rank_batch to be positive; they are {} and {}.",
                       options.global_batch, options.per_rank_batch));
  }
  const std::int64_t batch = options.global_batch > 0 ? options.global_batch : options.per_rank_batch * group.size();
  if (options.drop_last && static_cast<std::size_t>(batch) > dataset_size) {
    refuse(fmt::format("With drop_last an epoch of {} samples has no global batch of {}: make the batch smaller.",
                       dataset_size, batch));
  }
  check_lengths(dataset_size, options.lengths);
  if (!options.shares.empty() && options.shares.size() != static_cast<std::size_t>(group.size())) {
    refuse(fmt::format("make_loader was given {} shares for {} ranks: give one for each, or none.",
                       options.shares.size(), group.size()));
  }
  if (options.workers < 0 || options.batches_ahead < 0 || (options.workers == 0 && options.batches_ahead > 0)) {
    refuse(
        fmt::format("make_loader was given {} workers and {} batches_ahead: neither is negative, and without workers "
                    "no batch is fetched ahead.",
                    options.workers, options.batches_ahead));
  }
  return {.size = dataset_size,
          .global_batch = static_cast<std::size_t>(batch),
          .rank = group.rank(),
          .ranks = group.size(),
          .seed = options.seed,
          .shuffle = options.shuffle,
          .drop_last = options.drop_last,
          .lengths = options.lengths,
          .shares = options.shares.empty() ? std::nullopt : std::optional<Shares>(options.shares)};
}

std::vector<std::pair<std::string, std::string>> order_of(const Sampler::Options& options) {
  const auto& lengths = options.lengths;
  const std::string_view bytes(reinterpret_cast<const char*>(lengths.data()), lengths.size() * sizeof(lengths[0]));
  return {{"dataset", fmt::format("{} samples", options.size)},
          {"global batch", fmt::format("{} samples", options.global_batch)},
          {"shuffle", fmt::format("{}", options.shuffle)},
          {"seed", options.shuffle ? fmt::format("{}", options.seed) : "none"},
          {"lengths", lengths.empty() ? "none" : fmt::format("{:016x} (a fingerprint)", fingerprint(bytes))}};
}

void require_equal_options(const Group& group, const Sampler& sampler) {
  if (group.size() == 1) return;
  std::string shares;
  for (int rank = 0; rank < group.size(); ++rank) {
    shares += fmt::format("{}{:.6f}", rank == 0 ? "" : ", ", sampler.shares().fraction(rank));
  }
  auto things = order_of(sampler.options());
  things.emplace_back("drop_last", fmt::format("{}", sampler.options().drop_last));
  things.emplace_back("shares", shares);
  require_equal(group, things,
                {.what = "loaders",
                 .advice = "Give make_loader the same dataset and options on every rank.",
                 .operation = "make_loader"});
}

}  // namespace lockstep
