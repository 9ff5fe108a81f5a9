#include <lockstep/data_parallel.h>

#include "train/gradient_listeners.h"
#include "train/gradient_norm.h"
#include "train/local_gradient.h"
#include "train/reducer.h"
#include "train/tensor.h"

namespace lockstep {

DataParallel::DataParallel(const Group& group, torch::nn::Module& module, DataParallelOptions options)
    : reducer_(std::make_shared<detail::Reducer>(group, tensors_of(module), buffers_of(module), ParameterWatch(module),
                                                 std::move(options))) {}
DataParallel::DataParallel(const Group& group, const torch::jit::Module& module, DataParallelOptions options)
    : reducer_(std::make_shared<detail::Reducer>(group, tensors_of(module), buffers_of(module), ParameterWatch(module),
                                                 std::move(options))) {}
DataParallel::DataParallel(const Group& group, const NamedTensors& tensors, DataParallelOptions options)
    : reducer_(std::make_shared<detail::Reducer>(group, tensors_of(tensors), buffers_of(tensors),
                                                 ParameterWatch(tensors), std::move(options))) {}
DataParallel::~DataParallel() = default;
DataParallel::DataParallel(DataParallel&&) noexcept = default;
DataParallel& DataParallel::operator=(DataParallel&&) noexcept = default;

void DataParallel::samples(std::int64_t count) { agree_on_samples(reducer_->group(), count); }

torch::Tensor DataParallel::mean(const torch::Tensor& value) const {
  torch::NoGradGuard no_grad;
  const Group& group = reducer_->group();
  const double factor = reducer_->share().factor(group.size());
  const auto sum = counting(value.detach().to(torch::kFloat64), factor).contiguous();
  group.all_reduce(buffer_of(sum), ReduceOp::kMean, {.purpose = "mean of a value over ranks"}).wait();
  return sum.to(value.scalar_type());
}

double DataParallel::clip_grad_norm(double max_norm) {
  require_norm(max_norm);
  torch::NoGradGuard no_grad;
  const auto parameters = reducer_->parameters();
  const double norm = gradient_norm(reducer_->group(), parameters);
  clip(parameters, norm, max_norm);
  return norm;
}

void DataParallel::step(torch::optim::Optimizer& optimizer) {
  reducer_->group().attribute<GradientListeners>().end_iteration();
  optimizer.step();
}

DataParallel::Pause::~Pause() { --depth_; }
DataParallel::Pause DataParallel::pause() { return Pause(reducer_->pause_depth()); }
const SyncReport& DataParallel::report() const { return reducer_->report(); }
std::vector<std::string> DataParallel::parameters_without_gradient() const { return report().unreached; }
std::vector<std::string> DataParallel::parameters_not_reduced() const { return reducer_->not_reduced(); }

}  // namespace lockstep
