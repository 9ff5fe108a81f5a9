#include "train/mirrored/replica_threads.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/mirrored.h>

#include <algorithm>

namespace lockstep::detail {
namespace {

int at_least_one(int value, const char* what) {
  if (value >= 1) return value;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("Mirrored needs at least one {}, not {}.", what, value));
}

}  // namespace

Replicas::Replicas(int count, int computing_threads, std::uint64_t seed)
    : threads_(std::make_unique<ReplicaThreads>(
          at_least_one(count, "replica"), ReplicaSettings{at_least_one(computing_threads, "computing thread"), seed})) {
}

Replicas::~Replicas() = default;

int Replicas::count() const { return threads_->count(); }

void Replicas::run(const std::function<void(World&)>& task) { threads_->run(task); }

std::int64_t samples_of(const std::vector<torch::Tensor>& batch) {
  const auto samples_in = [](const torch::Tensor& tensor) { return tensor.dim() == 0 ? 0 : tensor.size(0); };
  const std::int64_t samples = batch.empty() ? 0 : samples_in(batch.front());
  if (samples == 0) throw Error(ErrorCode::kInvalidArgument, "A batch for Mirrored must have at least one sample.");
  for (std::size_t i = 1; i < batch.size(); ++i) {
    if (samples_in(batch[i]) == samples) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("A batch's tensors must have one sample each for each sample of the first: that has {}, "
                            "tensor {} has {}.",
                            samples, i, samples_in(batch[i])));
  }
  return samples;
}

BatchPart part_of(const std::vector<torch::Tensor>& batch, int replica, int replicas) {
  const std::int64_t samples = samples_of(batch);
  const std::int64_t begin = samples * replica / replicas;
  const std::int64_t count = samples * (replica + 1) / replicas - begin;
  BatchPart part;
  part.samples = count;
  for (const auto& tensor : batch) {
    part.tensors.push_back(tensor.narrow(0, std::min(begin, samples - 1), std::max<std::int64_t>(count, 1)));
  }
  return part;
}

}  // namespace lockstep::detail
