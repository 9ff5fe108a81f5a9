#include <fmt/format.h>
#include <lockstep/loader.h>
#include <torch/types.h>

#include "train/batch_share.h"
#include "train/sampler.h"

namespace lockstep {
namespace {

Sampler::Options checked(const Group& group, std::size_t dataset_size, const LoaderOptions& options) {
  if (dataset_size == 0) throw Error(ErrorCode::kInvalidArgument, "make_loader was given a dataset with no samples.");
  if ((options.global_batch > 0) == (options.per_rank_batch > 0) || options.global_batch < 0 ||
      options.per_rank_batch < 0) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("make_loader needs either global_batch or per_rank_batch to be positive; they are {} and {}.",
                    options.global_batch, options.per_rank_batch));
  }
  const std::int64_t batch = options.global_batch > 0 ? options.global_batch : options.per_rank_batch * group.size();
  if (options.drop_last && static_cast<std::size_t>(batch) > dataset_size) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("With drop_last an epoch of {} samples has no global batch of {}: make the batch smaller.",
                            dataset_size, batch));
  }
  return {.size = dataset_size,
          .global_batch = static_cast<std::size_t>(batch),
          .rank = group.rank(),
          .ranks = group.size(),
          .seed = options.seed,
          .shuffle = options.shuffle,
          .drop_last = options.drop_last};
}

}  // namespace

Loader::Loader(const Group& group, std::size_t dataset_size, Fetch fetch, const LoaderOptions& options)
    : group_(group),
      fetch_(std::move(fetch)),
      sampler_(std::make_unique<Sampler>(checked(group, dataset_size, options))) {}

Loader::~Loader() = default;

std::int64_t Loader::batches() const { return static_cast<std::int64_t>(sampler_->batches()); }

Loader::Epoch Loader::epoch() {
  sampler_->begin_epoch(static_cast<std::uint64_t>(position_.epoch));
  return Epoch(*this);
}

void Loader::set_position(LoaderPosition position) {
  if (position.epoch < 0 || position.batch < 0 || position.batch > batches()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("A loader with {} batches an epoch cannot go to batch {} of epoch {}: was the position saved "
                    "with another dataset or batch size?",
                    batches(), position.batch, position.epoch));
  }
  position_ = position;
  if (position_.batch == batches()) position_ = {position_.epoch + 1, 0};
}

bool Loader::advance() {
  if (position_.batch == batches()) return false;
  auto share = sampler_->share(static_cast<std::size_t>(position_.batch));
  batch_.samples = static_cast<std::int64_t>(share.indices.size());
  batch_.global_samples = static_cast<std::int64_t>(share.global);
  if (share.indices.empty()) share.indices.push_back(share.stand_in);
  static_cast<torch::data::Example<>&>(batch_) = fetch_(share.indices);
  group_.attribute<BatchShare>() = {batch_.samples, batch_.global_samples};
  ++position_.batch;
  return true;
}

void Loader::end_epoch() {
  group_.attribute<BatchShare>() = {};
  if (position_.batch > 0) position_ = {position_.epoch + 1, 0};
}

namespace detail {

torch::data::Example<> stack(std::vector<torch::data::Example<>> examples) {
  std::vector<torch::Tensor> data;
  std::vector<torch::Tensor> targets;
  for (auto& example : examples) {
    data.push_back(std::move(example.data));
    targets.push_back(std::move(example.target));
  }
  return {torch::stack(data), torch::stack(targets)};
}

void refuse_unsized() {
  throw Error(
      ErrorCode::kInvalidArgument,
      "make_loader needs a dataset that knows its size; this one is a stream. Give it a dataset with get and size.");
}

}  // namespace detail
}  // namespace lockstep
