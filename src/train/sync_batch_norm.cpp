#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/sync_batch_norm.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include "train/batch_moments.h"
#include "train/batch_share.h"
#include "train/local_gradient.h"
#include "train/tensor.h"

namespace lockstep {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

namespace {

/// What travels from forward to backward beside tensors.
struct WholeBatch : torch::CustomClassHolder {
  WholeBatch(Group group_of_ranks, double count_of_all) : group(std::move(group_of_ranks)), count(count_of_all) {}
  Group group;
  double count;  // values a channel, of all ranks
};

/// (x - mean) / deviation * weight + bias with statistics that depend on every rank's x.
struct Normalise : torch::autograd::Function<Normalise> {
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input, const torch::Tensor& weight,
                               const torch::Tensor& bias, const torch::Tensor& mean, const torch::Tensor& scale,
                               const c10::intrusive_ptr<WholeBatch>& batch) {
    context->save_for_backward({input, weight, mean, scale});
    context->saved_data["batch"] = torch::IValue::make_capsule(batch);
    const auto normal = (input.to(mean.scalar_type()) - along_channels(mean, input)) * along_channels(scale, input);
    return (normal * along_channels(weight, input) + along_channels(bias, input)).to(input.scalar_type());
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    if (torch::GradMode::is_enabled()) {
      throw Error(ErrorCode::kUnsupported,
                  "SyncBatchNorm has no second derivative: call backward without create_graph.");
    }
    const auto saved = context->get_saved_variables();
    const auto& input = saved[0];
    const auto& weight = saved[1];
    const auto& mean = saved[2];
    const auto& scale = saved[3];
    const auto batch = c10::static_intrusive_pointer_cast<WholeBatch>(context->saved_data["batch"].toCapsule());
    // Each rank's loss is a mean over its own samples and counts `factor` times in the loss of all. The leaves multiply
    // by that when they accumulate: what goes on from here is divided by it.
    const double factor = batch->group.attribute<BatchShare>().factor(batch->group.size());

    const auto own = gradients[0].to(mean.scalar_type());
    const auto normal = (input.to(mean.scalar_type()) - along_channels(mean, input)) * along_channels(scale, input);
    auto own_sums = torch::stack({sum_by_channel(own), sum_by_channel(own * normal)});
    const auto sums = counting(own_sums.to(torch::kFloat64), factor);
    batch->group.all_reduce(buffer_of(sums), ReduceOp::kSum, {.purpose = "gradients of a SyncBatchNorm's statistics"})
        .wait();

    torch::Tensor of_input;
    if (factor == 0) {
      of_input = torch::zeros_like(input);
    } else {
      const auto means = (sums / (batch->count * factor)).to(mean.scalar_type());
      const auto slope = along_channels(scale * weight, input);
      of_input = ((own - along_channels(means[0], input) - normal * along_channels(means[1], input)) * slope)
                     .to(input.scalar_type());
    }
    return {of_input, own_sums[1].to(weight.scalar_type()), own_sums[0].to(weight.scalar_type()), {}, {}, {}};
  }
};

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(Group group, const torch::nn::BatchNormOptions& batch_norm_options)
    : options(batch_norm_options), group_(std::move(group)) {
  SyncBatchNormImpl::reset();
}

SyncBatchNormImpl::SyncBatchNormImpl(Group group, const torch::nn::BatchNormOptions& batch_norm_options,
                                     const torch::nn::Module& tensors)
    : options(batch_norm_options), group_(std::move(group)) {
  for (const auto& parameter : tensors.named_parameters(/*recurse=*/false)) {
    auto& member = parameter.key() == "weight" ? weight : bias;
    member = register_parameter(parameter.key(), parameter.value(), parameter.value().requires_grad());
  }
  for (const auto& buffer : tensors.named_buffers(/*recurse=*/false)) {
    auto& member = buffer.key() == "running_mean"  ? running_mean
                   : buffer.key() == "running_var" ? running_var
                                                   : num_batches_tracked;
    member = register_buffer(buffer.key(), buffer.value());
  }
  train(tensors.is_training());
}

void SyncBatchNormImpl::reset() {
  if (options.affine()) {
    weight = register_parameter("weight", torch::ones({options.num_features()}));
    bias = register_parameter("bias", torch::zeros({options.num_features()}));
  }
  if (options.track_running_stats()) {
    running_mean = register_buffer("running_mean", torch::zeros({options.num_features()}));
    running_var = register_buffer("running_var", torch::ones({options.num_features()}));
    num_batches_tracked = register_buffer("num_batches_tracked", torch::zeros({}, torch::kInt64));
  }
}

torch::Tensor SyncBatchNormImpl::forward(const torch::Tensor& input) {
  require_shape(input);
  const double factor = update_factor();
  if (!is_training() && running_mean.defined()) {
    return torch::batch_norm(input, weight, bias, running_mean, running_var, /*training=*/false, factor, options.eps(),
                             /*cudnn_enabled=*/false);
  }
  const BatchMoments moments = moments_of_all(input, group_);
  const auto type = input.scalar_type() == torch::kFloat64 ? torch::kFloat64 : torch::kFloat32;
  if (is_training() && running_mean.defined()) {
    torch::NoGradGuard no_grad;
    const auto unbiased = moments.variance * (moments.count / (moments.count - 1));
    running_mean.lerp_(moments.mean.to(running_mean.scalar_type()), factor);
    running_var.lerp_(unbiased.to(running_var.scalar_type()), factor);
  }
  // Autograd wants tensors: without affine() it gets constants.
  const auto factors = weight.defined() ? weight : torch::ones({options.num_features()}, input.options());
  const auto offsets = bias.defined() ? bias : torch::zeros({options.num_features()}, input.options());
  return Normalise::apply(input, factors, offsets, moments.mean.to(type),
                          (moments.variance + options.eps()).rsqrt().to(type),
                          c10::make_intrusive<WholeBatch>(group_, moments.count));
}

/// How much of the batch's statistics goes into the running ones: the momentum, or without one the mean of all batches.
double SyncBatchNormImpl::update_factor() {
  if (!is_training() || !num_batches_tracked.defined()) return options.momentum().value_or(0.0);
  num_batches_tracked += 1;
  return options.momentum().has_value() ? *options.momentum() : 1.0 / num_batches_tracked.item<double>();
}

void SyncBatchNormImpl::require_shape(const torch::Tensor& input) const {
  if (input.dim() >= 2 && input.size(1) == options.num_features()) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("SyncBatchNorm of {0} features was given an input of shape [{1}]: it takes [N, {0}] and "
                          "[N, {0}, ...].",
                          options.num_features(), fmt::join(input.sizes(), ", ")));
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "lockstep::SyncBatchNorm(" << options.num_features() << ", eps=" << options.eps() << ")";
}

}  // namespace lockstep
