#include <lockstep/mixed_precision.h>

namespace lockstep {

MasterWeights::MasterWeights(std::vector<torch::Tensor> parameters) : parameters_(std::move(parameters)) {
  torch::NoGradGuard no_grad;
  for (const auto& parameter : parameters_) {
    auto master = parameter.detach().to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    masters_.push_back(master.set_requires_grad(parameter.requires_grad()));
  }
}

void MasterWeights::take_gradients() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i].grad();
    auto& master = masters_[i].mutable_grad();
    if (!gradient.defined()) {
      master = torch::Tensor();
    } else if (master.defined()) {
      master.copy_(gradient);
    } else {
      master = gradient.to(torch::kFloat32, /*non_blocking=*/false, /*copy=*/true);
    }
  }
}

void MasterWeights::give_values() {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) parameters_[i].copy_(masters_[i]);
}

}  // namespace lockstep
