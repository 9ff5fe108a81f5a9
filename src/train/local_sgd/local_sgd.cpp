#include <fmt/format.h>
#include <lockstep/local_sgd.h>

#include <cmath>
#include <map>
#include <vector>

#include "train/batch_share.h"
#include "train/buffer_sync.h"
#include "train/hooks/hook_base.h"
#include "train/local_gradient.h"
#include "train/module_tensors.h"
#include "train/replicate.h"
#include "train/tensor.h"

namespace lockstep {
namespace detail {

namespace {

void require(bool holds, const std::string& what) {
  if (!holds) throw Error(ErrorCode::kInvalidArgument, "LocalSgd: " + what);
}

LocalSgdOptions checked(const LocalSgdOptions& options) {
  require(options.period >= 1, fmt::format("a period of {} updates; it must be 1 or more.", options.period));
  require(options.outer_rate > 0 && std::isfinite(options.outer_rate),
          fmt::format("an outer rate of {}; it must be above 0.", options.outer_rate));
  require(options.outer_momentum >= 0 && options.outer_momentum < 1,
          fmt::format("an outer momentum of {}; it must be 0 or more and below 1.", options.outer_momentum));
  return options;
}

/// What all ranks must agree on.
std::vector<std::pair<std::string, std::string>> contract(const std::vector<ModuleTensor>& tensors,
                                                          const LocalSgdOptions& options) {
  auto things = descriptions_of(tensors);
  things.emplace_back("options",
                      fmt::format("period {}, outer rate {}, outer momentum {}, buffers {}", options.period,
                                  options.outer_rate, options.outer_momentum, static_cast<int>(options.buffers)));
  return things;
}

}  // namespace

/// What LocalSgd does.
class LocalReplicas {
 public:
  LocalReplicas(const Group& group, const std::vector<ModuleTensor>& tensors, std::vector<ModuleTensor> buffers,
                const LocalSgdOptions& options)
      : group_(group),
        options_(checked(options)),
        share_(group_.attribute<BatchShare>()),
        buffers_(std::move(buffers)),
        count_(group.size()) {
    require_equal(group_, contract(tensors, options_), {.operation = "LocalSgd"});
    std::map<torch::ScalarType, std::vector<torch::Tensor>> by_type;
    for (const auto& one : trainable_of(tensors, "LocalSgd")) by_type[one.tensor.scalar_type()].push_back(one.tensor);
    broadcast_values(group_, tensors);
    for (auto& [type, parameters] : by_type) parts_.push_back({parameters, flat(parameters), {}});
  }

  const Group& group() const { return group_; }
  HookTraffic traffic() const { return count_.traffic(); }

  void step(torch::optim::Optimizer& optimizer) {
    for (const Part& part : parts_) count_.dense(part.common.nbytes());
    const bool weighted = share_.global > 0;
    // A share without samples is a stand-in, whose gradients mean nothing.
    if (!weighted || share_.local > 0) optimizer.step();
    samples_ += weighted ? share_.local : 1;
    if (++updates_ == options_.period) exchange();
  }

  void synchronise() {
    if (updates_ > 0) exchange();
  }

 private:
  /// All parameters of one type.
  struct Part {
    std::vector<torch::Tensor> parameters;
    torch::Tensor common;    // flat: what all ranks had after the last exchange
    torch::Tensor velocity;  // of the outer optimizer
  };

  static torch::Tensor flat(const std::vector<torch::Tensor>& parameters) {
    std::vector<torch::Tensor> all;
    for (const auto& one : parameters) all.push_back(one.detach().flatten());
    return torch::cat(all);
  }

  void exchange() {
    const torch::NoGradGuard no_grad;
    std::vector<std::int64_t> total{samples_};
    group_.all_reduce(buffer_of(total), ReduceOp::kSum, {.purpose = "samples since the last exchange"}).wait();
    const double weight = static_cast<double>(samples_) / static_cast<double>(total[0]);
    for (Part& part : parts_) {
      // What this rank moved, with the sign of a gradient.
      const auto moved = part.common.sub(flat(part.parameters)).mul_(weight);
      count_.all_reduce(moved.nbytes());
      group_.all_reduce(buffer_of(moved), ReduceOp::kSum, {.purpose = "parameters of LocalSgd"}).wait();
      update(part, moved);
    }
    if (options_.buffers != BufferSync::kOnce) {
      synchronise_buffers(group_, buffers_, options_.buffers, weight * group_.size());
    }
    updates_ = samples_ = 0;
  }

  void update(Part& part, torch::Tensor moved) const {
    if (options_.outer_momentum > 0) {
      if (!part.velocity.defined()) part.velocity = torch::zeros_like(moved);
      part.velocity.mul_(options_.outer_momentum).add_(moved);
      moved.add_(part.velocity, options_.outer_momentum);
    }
    part.common.sub_(moved, options_.outer_rate);
    std::int64_t at = 0;
    for (auto& parameter : part.parameters) {
      parameter.copy_(part.common.narrow(0, at, parameter.numel()).view(parameter.sizes()));
      at += parameter.numel();
    }
  }

  Group group_;
  LocalSgdOptions options_;
  BatchShare& share_;  // the group's, as the loader sets it
  std::vector<ModuleTensor> buffers_;
  TrafficCount count_;
  std::vector<Part> parts_;
  std::int64_t updates_ = 0;  // since the last exchange
  std::int64_t samples_ = 0;  // of them; of this rank
};

}  // namespace detail

LocalSgd::LocalSgd(const Group& group, torch::nn::Module& module, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(module), buffers_of(module), options)) {}

LocalSgd::LocalSgd(const Group& group, const torch::jit::Module& module, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(module), buffers_of(module), options)) {}

LocalSgd::LocalSgd(const Group& group, const NamedTensors& tensors, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(tensors), buffers_of(tensors), options)) {}

void LocalSgd::samples(std::int64_t count) { agree_on_samples(replicas_->group(), count); }
void LocalSgd::step(torch::optim::Optimizer& optimizer) { replicas_->step(optimizer); }
void LocalSgd::synchronise() { replicas_->synchronise(); }
HookTraffic LocalSgd::traffic() const { return replicas_->traffic(); }

}  // namespace lockstep
