#include <ATen/Parallel.h>
#include <fmt/format.h>
#include <lockstep/invariant.h>

#include <bit>
#include <utility>

#include "base/clock.h"
#include "train/bucket.h"
#include "train/invariant/micro_batch_generator.h"
#include "train/invariant/tree_sum.h"
#include "train/local_gradient.h"
#include "train/parameter_watch.h"
#include "train/replicate.h"
#include "train/tensor.h"

namespace lockstep {
namespace {

constexpr const char* kOwner = "InvariantParallel";

[[noreturn]] void refuse(ErrorCode code, const std::string& why) { throw Error(code, why, {.operation = kOwner}); }

void require_sensible(const Group& group, const InvariantOptions& options) {
  const auto is_power = [](int value) { return value > 0 && std::has_single_bit(static_cast<unsigned>(value)); };
  if (!is_power(options.micro_batches) || options.threads < 1) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("InvariantParallel takes a power of two micro-batches and at least one thread, not {} and {}.",
                       options.micro_batches, options.threads));
  }
  if (!is_power(group.size()) || group.size() > options.micro_batches) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("InvariantParallel with {0} micro-batches runs on 1, 2, 4, ... up to {0} ranks, not on {1}.",
                       options.micro_batches, group.size()));
  }
}

std::vector<std::pair<std::string, std::string>> contract(const std::vector<ModuleTensor>& tensors,
                                                          const InvariantOptions& options) {
  auto things = descriptions_of(tensors);
  things.emplace_back("option micro_batches", std::to_string(options.micro_batches));
  things.emplace_back("option threads", std::to_string(options.threads));
  things.emplace_back("option seed", std::to_string(options.seed));
  things.emplace_back("option bucket_bytes", std::to_string(options.bucket_bytes));
  return things;
}

std::vector<ModuleTensor> parameters_in(const std::vector<ModuleTensor>& tensors) {
  auto parameters = trainable_of(tensors, kOwner);
  for (const auto& parameter : parameters) {
    const auto type = parameter.tensor.scalar_type();
    if (type == torch::kFloat32 || type == torch::kFloat64) continue;
    refuse(ErrorCode::kUnsupported,
           fmt::format("InvariantParallel does not take parameter '{}' of type {}: keep parameters in float32, and "
                       "compute in 16 bits by Autocast.",
                       parameter.name, c10::toString(type)));
  }
  return parameters;
}

std::vector<std::int64_t> versions_of(const std::vector<ModuleTensor>& tensors) {
  std::vector<std::int64_t> versions;
  for (const auto& tensor : tensors) versions.push_back(static_cast<std::int64_t>(tensor.tensor._version()));
  return versions;
}

}  // namespace

class InvariantParallel::Implementation {
 public:
  Implementation(const Group& group, const std::vector<ModuleTensor>& tensors, std::vector<ModuleTensor> buffers,
                 ParameterWatch watch, const InvariantOptions& options)
      : group_(group), options_(options), buffers_(std::move(buffers)), watch_(std::move(watch)) {
    require_sensible(group_, options_);
    require_equal(group_, contract(tensors, options_), {.operation = kOwner});
    parameters_ = parameters_in(tensors);
    broadcast_values(group_, tensors);
    const auto layouts =
        lay_out(sizes_of(parameters_), last_first(parameters_.size()), {options_.bucket_bytes, options_.bucket_bytes});
    slots_ = std::make_unique<BucketSet>(group_, layouts, parameters_);
    at::set_num_threads(options_.threads);
  }

  const Group& group() const { return group_; }
  std::int64_t& iteration() { return iteration_; }
  const InvariantReport& report() const { return report_; }

  double backward(std::int64_t global_samples, const LossOfRange& loss_of) {
    require_threads();
    if (global_samples < 1) refuse(ErrorCode::kInvalidArgument, "A global batch without samples has no mean.");
    const auto start = Clock::now();
    std::vector<std::uint8_t> reached(parameters_.size() + 1);  // the last: parameters changed
    const auto versions = versions_of(buffers_);
    const auto sum = sum_of_own(global_samples, loss_of, reached);
    require_same(versions);
    torch::NoGradGuard no_grad;
    const auto loss = sum.back();
    for (std::size_t i = 0; i < parameters_.size(); ++i) slots_->slot_of(i).copy_(sum[i]);
    report_.compute_ms = milliseconds_since(start);

    const auto communication = Clock::now();
    const std::string change = watch_.change();
    reached.back() = change.empty() ? 0 : 1;
    sum_over_ranks(loss, reached);
    if (reached.back() != 0) refuse_change(group_, change, kOwner);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (reached[i] != 0) parameters_[i].tensor.mutable_grad() = slots_->slot_of(i);
    }
    report_.communication_ms = milliseconds_since(communication);
    ++iteration_;
    return loss.item<double>();
  }

 private:
  /// Gradients, by parameter, and behind them the loss: of this rank's micro-batches.
  TreeSum::Leaf sum_of_own(std::int64_t samples, const LossOfRange& loss_of, std::vector<std::uint8_t>& reached) {
    const MicroBatchGenerator generator;
    const std::int64_t all = options_.micro_batches;
    const std::int64_t own = all / group_.size();
    TreeSum sum;
    for (std::int64_t v = group_.rank() * own; v < (group_.rank() + 1) * own; ++v) {
      generator.seed(options_.seed, iteration_, v);
      sum.add(leaf(samples * v / all, samples * (v + 1) / all, samples, loss_of, reached));
    }
    return sum.take();
  }

  TreeSum::Leaf leaf(std::int64_t begin, std::int64_t end, std::int64_t samples, const LossOfRange& loss_of,
                     std::vector<std::uint8_t>& reached) {
    for (const auto& parameter : parameters_) parameter.tensor.mutable_grad() = torch::Tensor();
    const double weight = static_cast<double>(end - begin) / static_cast<double>(samples);
    double loss = 0;
    if (begin < end) {
      const auto of_range = loss_of(begin, end);
      of_range.backward();
      loss = of_range.item<double>() * weight;
    }
    torch::NoGradGuard no_grad;
    TreeSum::Leaf result;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      auto& gradient = parameters_[i].tensor.mutable_grad();
      if (gradient.defined()) {
        const auto type = parameters_[i].tensor.scalar_type();
        const auto counted = weighted(gradient, weight, {parameters_[i].name, type, group_.rank(), kOwner});
        result.push_back(counted.defined() ? counted : gradient);
        reached[i] = 1;
        gradient = torch::Tensor();
      } else {
        // Zeros are added like others: whether -0 becomes 0 must not depend on who adds.
        result.push_back(torch::zeros_like(parameters_[i].tensor));
      }
    }
    result.push_back(torch::full({1}, loss, torch::kFloat64));
    return result;
  }

  void sum_over_ranks(const torch::Tensor& loss, std::vector<std::uint8_t>& reached) {
    std::vector<Pending> pending;
    for (const Bucket& bucket : slots_->buckets()) {
      pending.push_back(group_.all_reduce(bucket.buffer(), ReduceOp::kSum,
                                          {.purpose = bucket.purpose(), .reduction = Reduction::kCanonical}));
    }
    pending.push_back(
        group_.all_reduce(buffer_of(loss), ReduceOp::kSum, {.purpose = "loss", .reduction = Reduction::kCanonical}));
    pending.push_back(
        group_.all_reduce(buffer_of(reached), ReduceOp::kMax, {.purpose = "which parameters got a gradient"}));
    for (auto& operation : pending) operation.wait();
  }

  void require_threads() const {
    if (at::get_num_threads() == options_.threads) return;
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("torch computes with {} threads now, and InvariantParallel was made for {}: results would "
                       "differ. Give it the number by its option threads.",
                       at::get_num_threads(), options_.threads));
  }

  void require_same(const std::vector<std::int64_t>& versions) const {
    for (std::size_t i = 0; i < buffers_.size(); ++i) {
      if (static_cast<std::int64_t>(buffers_[i].tensor._version()) == versions[i]) continue;
      refuse(ErrorCode::kUnsupported,
             fmt::format("The model changes its buffer '{}' as it computes, so that results depend on which rank has "
                         "which samples: normalise by GroupNorm or LayerNorm instead of BatchNorm.",
                         buffers_[i].name));
    }
  }

  Group group_;
  InvariantOptions options_;
  std::vector<ModuleTensor> parameters_;
  std::vector<ModuleTensor> buffers_;
  ParameterWatch watch_;
  std::unique_ptr<BucketSet> slots_;
  std::int64_t iteration_ = 0;
  InvariantReport report_;
};

InvariantParallel::InvariantParallel(const Group& group, torch::nn::Module& module, const InvariantOptions& options)
    : implementation_(std::make_unique<Implementation>(group, tensors_of(module), buffers_of(module),
                                                       ParameterWatch(module), options)) {}
InvariantParallel::InvariantParallel(const Group& group, const NamedTensors& tensors, const InvariantOptions& options)
    : implementation_(std::make_unique<Implementation>(group, tensors_of(tensors), buffers_of(tensors),
                                                       ParameterWatch(tensors), options)) {}
InvariantParallel::~InvariantParallel() = default;
InvariantParallel::InvariantParallel(InvariantParallel&&) noexcept = default;
InvariantParallel& InvariantParallel::operator=(InvariantParallel&&) noexcept = default;

double InvariantParallel::backward(const Batch& batch, const LossOf& loss_of) {
  const Group& group = implementation_->group();
  const std::int64_t first = batch.global_samples * group.rank() / group.size();
  const std::int64_t last = batch.global_samples * (group.rank() + 1) / group.size();
  if (batch.lengths.defined() || batch.samples != last - first) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("InvariantParallel needs samples that are dealt to ranks in order and in equal shares, and this "
                       "batch has {} of {} on rank {} of {}: make its loader without lengths and shares.",
                       batch.samples, batch.global_samples, group.rank(), group.size()));
  }
  return backward(batch.global_samples, [&](std::int64_t begin, std::int64_t end) {
    return loss_of(batch.data.slice(0, begin - first, end - first), batch.target.slice(0, begin - first, end - first));
  });
}

double InvariantParallel::backward(std::int64_t global_samples, const LossOfRange& loss_of) {
  return implementation_->backward(global_samples, loss_of);
}

std::int64_t& InvariantParallel::iteration() { return implementation_->iteration(); }
const InvariantReport& InvariantParallel::report() const { return implementation_->report(); }

}  // namespace lockstep
