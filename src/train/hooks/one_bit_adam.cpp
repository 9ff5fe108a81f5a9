#include <fmt/format.h>
#include <lockstep/one_bit_adam.h>

#include <algorithm>
#include <cmath>

#include "train/hooks/hook_base.h"
#include "train/hooks/sign_code.h"
#include "train/optimizer_fields.h"
#include "train/tensor.h"

namespace lockstep {

using torch::optim::AdamOptions;
using torch::optim::AdamParamState;
using torch::optim::OptimizerParamGroup;

/// What goes between ranks, and what that loses.
class OneBitAdam::Exchange {
 public:
  Exchange(const Group& group, std::int64_t block) : group_(group), block_(block), count_(group.size()) {}

  bool compresses = false;

  Pending mean_of_gradients(const GradientBucket& bucket) {
    count_.dense(bucket);
    if (compresses) return {};
    count_.all_reduce(bucket.flat.nbytes());
    return mean_in_place(group_, bucket.flat, purpose_of(bucket, "one_bit_adam's warm-up"));
  }

  /// The mean over ranks of a flat float32 tensor, as it comes through a bit a value.
  torch::Tensor compressed_mean(const torch::Tensor& flat) {
    const OperationOptions options{.purpose = "momenta of one_bit_adam"};
    const std::int64_t ranks = group_.size();
    const std::int64_t piece = (flat.numel() + ranks * block_ - 1) / (ranks * block_) * block_;
    const SignCode code(piece, block_);
    const auto padded = torch::constant_pad_nd(flat, {0, ranks * piece - flat.numel()}).view({ranks, piece});
    const auto mine = count_.time([&] { return sent_of(padded, code, lost_in_sending_); });
    const auto pieces = torch::empty_like(mine);
    count_.all_to_all(mine.nbytes());
    group_.all_to_all(mine.data_ptr(), buffer_of(pieces), options).wait();

    const auto means = torch::empty_like(pieces);
    count_.time([&] {
      means[group_.rank()].copy_(sent_of(code.decode(pieces).mean(0, /*keepdim=*/true), code, lost_in_mean_)[0]);
    });
    count_.all_gather(static_cast<std::size_t>(code.row_bytes()));
    group_.all_gather(buffer_of(means), options).wait();
    return count_.time([&] { return code.decode(means).flatten(); });
  }

  HookTraffic traffic() const { return count_.traffic(); }

 private:
  /// The code of rows to which is added what was `lost` of them before; what is lost now is kept there.
  static torch::Tensor sent_of(const torch::Tensor& rows, const SignCode& code, torch::Tensor& lost) {
    const auto wanted = lost.defined() ? rows + lost : rows;
    const auto sent = code.encode(wanted);
    lost = wanted - code.decode(sent);
    return sent;
  }

  Group group_;
  std::int64_t block_;
  TrafficCount count_;
  torch::Tensor lost_in_sending_;
  torch::Tensor lost_in_mean_;  // of the piece that this rank averages
};

namespace {

void require(const std::vector<OptimizerParamGroup>& groups, const OneBitAdamOptions& options) {
  require_block(options.block, "OneBitAdam");
  if (options.warmup < 1) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("OneBitAdam: a warm-up of {} iterations; without one there is no variance to go by.",
                            options.warmup));
  }
  for (const auto& group : groups) {
    if (group.has_options() && static_cast<const AdamOptions&>(group.options()).amsgrad()) {
      throw Error(ErrorCode::kUnsupported, "OneBitAdam: amsgrad follows the variance, which is frozen here.");
    }
    for (const auto& parameter : group.params()) {
      if (parameter.scalar_type() == torch::kFloat32 && parameter.device().is_cpu()) continue;
      throw Error(ErrorCode::kUnsupported,
                  fmt::format("OneBitAdam: a parameter of {} on {}; it takes float32 on the host.",
                              c10::toString(parameter.scalar_type()), parameter.device().str()));
    }
  }
}

AdamParamState* state_of(const torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  return static_cast<AdamParamState*>(find_state(optimizer, parameter));
}

/// The rank's own momentum after its gradient, which all ranks have or none.
void add_gradient(const torch::Tensor& parameter, AdamParamState& state, const AdamOptions& options) {
  const double beta = std::get<0>(options.betas());
  const auto gradient = parameter.grad().add(parameter, options.weight_decay());
  state.step(state.step() + 1);
  state.exp_avg().mul_(beta).add_(gradient, 1 - beta);
}

void take_step(torch::Tensor parameter, AdamParamState& state, const AdamOptions& options, std::int64_t warmup) {
  const auto steps = static_cast<double>(state.step());
  const auto counted = static_cast<double>(std::min(state.step(), warmup));
  // A sign is never zero: what has no variance would move without bounds.
  state.exp_avg().masked_fill_(state.exp_avg_sq() == 0, 0);
  const auto root = (state.exp_avg_sq() / (1 - std::pow(std::get<1>(options.betas()), counted))).sqrt_();
  parameter.addcdiv_(state.exp_avg(), root.add_(options.eps()),
                     -options.lr() / (1 - std::pow(std::get<0>(options.betas()), steps)));
}

}  // namespace

OneBitAdam::OneBitAdam(const Group& group, std::vector<torch::Tensor> parameters, AdamOptions adam,
                       OneBitAdamOptions options)
    : OneBitAdam(group, std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(parameters))}, adam, options) {}

OneBitAdam::OneBitAdam(const Group& group, std::vector<OptimizerParamGroup> groups, AdamOptions adam,
                       OneBitAdamOptions options)
    : Adam(std::move(groups), adam),
      warmup_(options.warmup),
      exchange_(std::make_shared<Exchange>(group, options.block)) {
  require(param_groups(), options);
}

CommunicationHook OneBitAdam::communication_hook() {
  return [exchange = exchange_](const GradientBucket& bucket) { return exchange->mean_of_gradients(bucket); };
}

HookTraffic OneBitAdam::traffic() const { return exchange_->traffic(); }

bool OneBitAdam::compresses() const {
  std::int64_t steps = 0;
  for (const auto& group : param_groups()) {
    for (const auto& parameter : group.params()) {
      if (const auto* state = state_of(*this, parameter)) steps = std::max(steps, state->step());
    }
  }
  return steps >= warmup_;
}

torch::Tensor OneBitAdam::step(LossClosure closure) {
  if (!compresses()) {
    auto loss = Adam::step(std::move(closure));
    exchange_->compresses = compresses();
    return loss;
  }
  exchange_->compresses = true;
  torch::Tensor loss;
  if (closure) {
    const torch::AutoGradMode enabled(true);
    loss = closure();
  }
  update_compressed();
  return loss;
}

void OneBitAdam::update_compressed() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> momenta;
  bool moves = false;
  for (auto& group : param_groups()) {
    for (const auto& parameter : group.params()) {
      auto* state = state_of(*this, parameter);
      if (state && parameter.grad().defined()) {
        add_gradient(parameter, *state, static_cast<const AdamOptions&>(group.options()));
        moves = true;
      }
      momenta.push_back(state ? state->exp_avg().flatten() : torch::zeros({parameter.numel()}));
    }
  }
  if (!moves) return;
  const auto mean = exchange_->compressed_mean(torch::cat(momenta));
  std::int64_t at = 0;
  for (auto& group : param_groups()) {
    for (const auto& parameter : group.params()) {
      auto* state = state_of(*this, parameter);
      if (state && parameter.grad().defined()) {
        state->exp_avg().copy_(mean.narrow(0, at, parameter.numel()).view(parameter.sizes()));
        take_step(parameter, *state, static_cast<const AdamOptions&>(group.options()), warmup_);
      }
      at += parameter.numel();
    }
  }
}

}  // namespace lockstep
