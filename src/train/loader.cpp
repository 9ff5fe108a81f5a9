#include <ATen/ThreadLocalState.h>
#include <fmt/format.h>
#include <lockstep/loader.h>
#include <torch/types.h>

#include "base/clock.h"
#include "train/batch_share.h"
#include "train/gradient_listeners.h"
#include "train/loader_options.h"
#include "train/prefetch.h"
#include "train/sampler.h"

namespace lockstep {
namespace {

torch::Tensor lengths_of(const std::vector<std::size_t>& indices, const std::vector<std::int64_t>& lengths) {
  if (lengths.empty()) return {};
  std::vector<std::int64_t> own;
  for (const std::size_t index : indices) own.push_back(lengths[index]);
  return torch::tensor(own, torch::kInt64);
}

}  // namespace

/// A batch as it is fetched, and what it counts for in `balance`.
struct Loader::Fetched {
  Batch batch;
  std::int64_t work = 0;
};

Loader::Loader(const Group& group, std::size_t dataset_size, Fetch fetch, const LoaderOptions& options)
    : group_(group),
      fetch_(std::move(fetch)),
      sampler_(std::make_unique<Sampler>(sampler_options(group, dataset_size, options))),
      workers_(options.workers),
      ahead_(options.batches_ahead > 0 ? options.batches_ahead : 2 * options.workers) {
  require_equal_options(group_, *sampler_);
}

Loader::~Loader() = default;

std::int64_t Loader::batches() const { return static_cast<std::int64_t>(sampler_->batches()); }

std::vector<std::pair<std::string, std::string>> Loader::order() const { return order_of(sampler_->options()); }

Loader::Epoch Loader::epoch() {
  prefetch_.reset();
  data_wait_ms_ = 0;
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
  prefetch_.reset();
  position_ = position;
  if (position_.batch == batches()) position_ = {position_.epoch + 1, 0};
}

Loader::Fetched Loader::fetch(std::int64_t batch) const {
  auto share = sampler_->share(static_cast<std::size_t>(batch));
  Fetched fetched;
  fetched.work = share.work;
  fetched.batch.samples = static_cast<std::int64_t>(share.indices.size());
  fetched.batch.global_samples = static_cast<std::int64_t>(share.global);
  if (share.indices.empty()) share.indices.push_back(share.stand_in);
  static_cast<torch::data::Example<>&>(fetched.batch) = fetch_(share.indices);
  fetched.batch.lengths = lengths_of(share.indices, sampler_->options().lengths);
  return fetched;
}

Loader::Fetched Loader::next() {
  if (workers_ == 0) return fetch(position_.batch);
  if (!prefetch_) {
    // Workers fetch under the modes of this thread, as without gradients.
    const auto make = [this, state = at::ThreadLocalState()](std::int64_t batch) {
      const at::ThreadLocalStateGuard guard(state);
      return fetch(batch);
    };
    prefetch_ = std::make_unique<Prefetch<Fetched>>(
        make,
        Prefetch<Fetched>::Options{.first = position_.batch, .end = batches(), .workers = workers_, .ahead = ahead_});
  }
  try {
    return prefetch_->take();
  } catch (...) {
    prefetch_.reset();  // a loop that goes on all the same asks for the same batch again, as without workers
    throw;
  }
}

bool Loader::advance() {
  group_.attribute<GradientListeners>().end_iteration();
  if (position_.batch == batches()) return false;
  const auto start = Clock::now();
  Fetched fetched = next();
  data_wait_ms_ += milliseconds_since(start);
  batch_ = std::move(fetched.batch);
  work_ += fetched.work;
  auto& share = group_.attribute<BatchShare>();
  if (!std::exchange(in_epoch_, true)) share_before_ = {share.local, share.global};
  share = {batch_.samples, batch_.global_samples};
  ++position_.batch;
  return true;
}

void Loader::end_epoch() {
  prefetch_.reset();
  if (std::exchange(in_epoch_, false)) group_.attribute<BatchShare>() = {share_before_.first, share_before_.second};
  if (position_.batch > 0) position_ = {position_.epoch + 1, 0};
}

std::vector<double> Loader::shares() const {
  std::vector<double> parts;
  for (int rank = 0; rank < group_.size(); ++rank) parts.push_back(sampler_->shares().fraction(rank));
  return parts;
}

std::vector<double> Loader::balance(double seconds) {
  const auto ranks = static_cast<std::size_t>(group_.size());
  const auto rank = static_cast<std::size_t>(group_.rank());
  std::vector<double> told(2 * ranks);
  told[2 * rank] = static_cast<double>(work_);
  told[2 * rank + 1] = seconds;
  group_.all_gather(buffer_of(told), {.purpose = "speeds of the ranks"}).wait();
  std::vector<double> work;
  std::vector<double> times;
  for (std::size_t r = 0; r < ranks; ++r) {
    work.push_back(told[2 * r]);
    times.push_back(told[2 * r + 1]);
  }
  prefetch_.reset();  // what it has fetched is cut as before
  sampler_->set_shares(shares_by_speed(sampler_->shares(), work, times));
  work_ = 0;
  return shares();
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
