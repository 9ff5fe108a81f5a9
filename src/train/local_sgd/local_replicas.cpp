#include "train/local_sgd/local_replicas.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <utility>

#include "train/buffer_sync.h"
#include "train/local_gradient.h"
#include "train/replicate.h"
#include "train/tensor.h"

namespace lockstep::detail {

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

torch::Tensor flat(const std::vector<ModuleTensor>& parameters) {
  std::vector<torch::Tensor> all;
  for (const auto& one : parameters) all.push_back(one.tensor.detach().flatten());
  return torch::cat(all);
}

/// Calls f(parameter, what of `all` is its own), which lies there flat, one after the other.
template <class F>
void for_each_of(const std::vector<ModuleTensor>& parameters, const torch::Tensor& all, const F& f) {
  std::int64_t at = 0;
  for (const ModuleTensor& one : parameters) {
    f(one.tensor, all.narrow(0, at, one.tensor.numel()).view(one.tensor.sizes()));
    at += one.tensor.numel();
  }
}

}  // namespace

LocalReplicas::LocalReplicas(const Group& group, const std::vector<ModuleTensor>& tensors,
                             std::vector<ModuleTensor> buffers, ParameterWatch watch, const LocalSgdOptions& options)
    : group_(group),
      options_(checked(options)),
      share_(group_.attribute<BatchShare>()),
      buffers_(std::move(buffers)),
      watch_(std::move(watch)),
      count_(group.size()) {
  require_equal(group_, contract(tensors, options_), {.operation = "LocalSgd"});
  std::map<torch::ScalarType, std::vector<ModuleTensor>> by_type;
  for (const auto& one : trainable_of(tensors, "LocalSgd")) by_type[one.tensor.scalar_type()].push_back(one);
  broadcast_values(group_, tensors);
  for (auto& [type, parameters] : by_type) {
    const torch::Tensor common = flat(parameters);
    parts_.push_back({parameters, common, options_.outer_momentum > 0 ? torch::zeros_like(common) : torch::Tensor()});
  }
}

void LocalReplicas::step(torch::optim::Optimizer& optimizer) {
  count_.begin_iteration();
  for (const Part& part : parts_) count_.dense(part.common.nbytes());
  const bool weighted = share_.global > 0;
  // A share without samples is a stand-in, whose gradients mean nothing.
  if (!weighted || share_.local > 0) optimizer.step();
  samples_ += weighted ? share_.local : 1;
  if (++updates_ >= options_.period) exchange();
}

void LocalReplicas::synchronise() {
  if (apart()) exchange();
}

void LocalReplicas::exchange() {
  const torch::NoGradGuard no_grad;
  const std::string change = watch_.change();
  std::vector<std::int64_t> total{samples_, change.empty() ? 0 : 1};
  group_.all_reduce(buffer_of(total), ReduceOp::kSum, {.purpose = "samples since the last exchange"}).wait();
  if (total[1] > 0) refuse_change(group_, change, "LocalSgd");
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

void LocalReplicas::update(Part& part, torch::Tensor moved) const {
  if (options_.outer_momentum > 0) {
    part.velocity.mul_(options_.outer_momentum).add_(moved);
    moved.add_(part.velocity, options_.outer_momentum);
  }
  part.common.sub_(moved, options_.outer_rate);
  for_each_of(part.parameters, part.common,
              [](torch::Tensor parameter, const torch::Tensor& common) { parameter.copy_(common); });
}

std::vector<ModuleTensor> LocalReplicas::parameters() const {
  std::vector<ModuleTensor> all;
  for (const Part& part : parts_) all.insert(all.end(), part.parameters.begin(), part.parameters.end());
  return all;
}

std::vector<torch::Tensor> LocalReplicas::velocities() {
  std::vector<torch::Tensor> all;
  if (options_.outer_momentum == 0) return all;
  for (const Part& part : parts_) {
    for_each_of(part.parameters, part.velocity,
                [&](const torch::Tensor&, const torch::Tensor& velocity) { all.push_back(velocity); });
  }
  return all;
}

void LocalReplicas::take_over_parameters() {
  for (Part& part : parts_) part.common = flat(part.parameters);
  updates_ = samples_ = 0;
}

}  // namespace lockstep::detail
