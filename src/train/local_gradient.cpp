#include "train/local_gradient.h"

#include <fmt/format.h>

#include "train/batch_share.h"
#include "train/tensor.h"

namespace lockstep {

std::vector<ModuleTensor> trainable_of(std::vector<ModuleTensor> tensors, const std::string& owner) {
  std::erase_if(tensors, [](const ModuleTensor& t) { return !t.trainable || !t.tied_to.empty(); });
  if (tensors.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                owner + " was given a model with no parameter that requires a gradient: there is nothing to train.");
  }
  for (const auto& parameter : tensors) {
    if (parameter.tensor.device().is_cpu() && data_type_of(parameter.tensor.scalar_type())) continue;
    throw Error(ErrorCode::kUnsupported,
                fmt::format("{} does not take parameter '{}' of type {} on device {}: it takes floating-point "
                            "parameters in host memory.",
                            owner, parameter.name, c10::toString(parameter.tensor.scalar_type()),
                            parameter.tensor.device().str()));
  }
  return tensors;
}

torch::Tensor weighted(const torch::Tensor& gradient, double factor, const GradientOf& whose) {
  const auto refuse = [&](ErrorCode code, const std::string& why) {
    throw Error(code, fmt::format("Parameter '{}' {}", whose.parameter, why),
                {.rank = whose.rank, .operation = whose.owner});
  };
  if (gradient.layout() != torch::kStrided) {
    refuse(
        ErrorCode::kUnsupported,
        fmt::format("has a sparse gradient, which {} cannot reduce: make its layer's gradients dense{}.", whose.owner,
                    whose.owner == std::string("DataParallel") ? ", or name it in sparse_parameters" : ""));
  }
  if (gradient.scalar_type() != whose.type) {
    refuse(ErrorCode::kInvalidArgument,
           fmt::format("changed its type after {0} was made: convert the module first, then make {0}.", whose.owner));
  }
  return factor == 1 ? torch::Tensor() : counting(gradient, factor);
}

void refuse_second_gradient(const std::string& parameter, int rank, const char* owner) {
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("Parameter '{}' got a gradient twice in one backward, the second time after the first may have "
                  "been sent: a layer that is used several times, each time under activation checkpointing, "
                  "has to be checkpointed once, as a whole{}.",
                  parameter,
                  owner == std::string("DataParallel") ? ", or DataParallel be told static_graph = true" : ""),
      {.rank = rank, .operation = owner});
}

torch::Tensor counting(const torch::Tensor& values, double factor) {
  return factor == 0 ? torch::zeros_like(values) : values * factor;
}

bool is_not_zero(const torch::Tensor& gradient) {
  if (!gradient.defined()) return false;
  return (gradient.is_sparse() ? gradient._values() : gradient).any().item<bool>();
}

std::vector<GradientSize> sizes_of(const std::vector<ModuleTensor>& parameters) {
  std::vector<GradientSize> sizes;
  for (const auto& parameter : parameters) {
    sizes.push_back({parameter.tensor.nbytes(), *data_type_of(parameter.tensor.scalar_type())});
  }
  return sizes;
}

std::vector<std::size_t> last_first(std::size_t count) {
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = count - 1 - i;
  return order;
}

std::vector<std::size_t> order_of_rank_zero(const Group& group, const std::vector<std::size_t>& own) {
  std::vector<std::int64_t> agreed(own.begin(), own.end());
  group.broadcast(buffer_of(agreed), 0, {.purpose = "order in which gradients come"}).wait();
  return {agreed.begin(), agreed.end()};
}

void agree_on_samples(const Group& group, std::int64_t count) {
  if (count < 0) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("samples({}): a number of samples cannot be negative.", count));
  }
  std::vector<std::int64_t> total{count};
  group.all_reduce(buffer_of(total), ReduceOp::kSum, {.purpose = "number of samples"}).wait();
  if (total[0] == 0) {
    throw Error(ErrorCode::kInvalidArgument,
                "samples(0) on every rank: a backward without samples has no mean. Skip it.");
  }
  group.attribute<BatchShare>() = {count, total[0]};
}

}  // namespace lockstep
