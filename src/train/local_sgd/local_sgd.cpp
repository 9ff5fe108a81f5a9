#include <lockstep/local_sgd.h>

#include "train/batch_share.h"
#include "train/local_gradient.h"
#include "train/local_sgd/local_replicas.h"
#include "train/local_sgd/local_state.h"
#include "train/module_tensors.h"
#include "train/parameter_watch.h"

namespace lockstep {

LocalSgd::LocalSgd(const Group& group, torch::nn::Module& module, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(module), buffers_of(module),
                                                        ParameterWatch(module), options)) {}

LocalSgd::LocalSgd(const Group& group, const torch::jit::Module& module, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(module), buffers_of(module),
                                                        ParameterWatch(module), options)) {}

LocalSgd::LocalSgd(const Group& group, const NamedTensors& tensors, LocalSgdOptions options)
    : replicas_(std::make_shared<detail::LocalReplicas>(group, tensors_of(tensors), buffers_of(tensors),
                                                        ParameterWatch(tensors), options)) {}

void LocalSgd::samples(std::int64_t count) { agree_on_samples(replicas_->group(), count); }
void LocalSgd::step(torch::optim::Optimizer& optimizer) { replicas_->step(optimizer); }
void LocalSgd::synchronise() { replicas_->synchronise(); }
std::unique_ptr<StatePart> LocalSgd::state(const std::string& name, torch::optim::Optimizer& optimizer) const {
  return std::make_unique<detail::LocalState>(name, replicas_, optimizer);
}
HookTraffic LocalSgd::traffic() const { return replicas_->traffic(); }

}  // namespace lockstep
