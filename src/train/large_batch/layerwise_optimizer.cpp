#include <lockstep/error.h>
#include <lockstep/optim.h>
#include <torch/optim/adam.h>
#include <torch/optim/sgd.h>
#include <torch/utils.h>

#include <cmath>
#include <memory>
#include <string>

#include "train/gradient_norm.h"
#include "train/optimizer_fields.h"

namespace lockstep {

namespace {

using torch::optim::OptimizerOptions;

/// The state of a parameter, made when it is first updated.
template <class State>
State& state_of(torch::optim::Optimizer& optimizer, const torch::Tensor& parameter) {
  if (find_state(optimizer, parameter) == nullptr) put_state(optimizer, parameter, std::make_unique<State>());
  return static_cast<State&>(*find_state(optimizer, parameter));
}

void require(bool holds, const std::string& name, double value, const std::string& range) {
  if (holds) return;
  throw Error(ErrorCode::kInvalidArgument, "The option " + name + " of this optimizer is " + std::to_string(value) +
                                               "; it has to be " + range + ".");
}

LarsOptions checked(const LarsOptions& options) {
  require(options.lr() >= 0, "lr", options.lr(), "0 or more");
  require(options.momentum() >= 0, "momentum", options.momentum(), "0 or more");
  require(options.weight_decay() >= 0, "weight_decay", options.weight_decay(), "0 or more");
  require(options.trust() > 0, "trust", options.trust(), "more than 0");
  return options;
}

LambOptions checked(const LambOptions& options) {
  require(options.lr() >= 0, "lr", options.lr(), "0 or more");
  require(options.beta1() >= 0 && options.beta1() < 1, "beta1", options.beta1(), "0 or more and less than 1");
  require(options.beta2() >= 0 && options.beta2() < 1, "beta2", options.beta2(), "0 or more and less than 1");
  require(options.eps() >= 0, "eps", options.eps(), "0 or more");
  require(options.weight_decay() >= 0, "weight_decay", options.weight_decay(), "0 or more");
  return options;
}

[[noreturn]] void refuse_archive(const char* what) {
  throw Error(ErrorCode::kUnsupported,
              std::string(what) +
                  ": archives of torch have no place for the state of Lars and Lamb. Give the "
                  "optimizer to TrainingState::optimizer, and save or load that by Checkpoints.");
}

}  // namespace

void LayerwiseOptimizer::save(torch::serialize::OutputArchive&) const { refuse_archive("torch::save"); }
void LayerwiseOptimizer::load(torch::serialize::InputArchive&) { refuse_archive("torch::load"); }

torch::Tensor LayerwiseOptimizer::step(LossClosure closure) {
  torch::Tensor loss;
  if (closure) {
    const torch::AutoGradMode enabled(true);
    loss = closure();
  }
  const torch::NoGradGuard no_grad;
  std::vector<std::pair<Direction, std::size_t>> waiting;  // and where their squares are
  std::vector<double> squares;
  const auto finish = [this](const Direction& direction, const double* pair) {
    const bool scaled = is_layerwise(*direction.options) && pair[0] > 0 && pair[1] > 0;
    apply(direction, scaled ? std::sqrt(pair[0]) : 0, scaled ? std::sqrt(pair[1]) : 0);
  };
  for (auto& group : param_groups()) {
    for (const torch::Tensor& parameter : group.params()) {
      double pair[] = {0, 0};
      if (parameter.grad().defined()) {
        const Direction direction = direction_of(parameter, group.options());
        pair[0] = sum_of_squares(parameter);
        pair[1] = sum_of_squares(direction.measured);
        if (sum_) {
          waiting.emplace_back(direction, squares.size());
        } else {
          finish(direction, pair);
        }
      }
      squares.insert(squares.end(), std::begin(pair), std::end(pair));
    }
  }
  if (!sum_) return loss;
  torch::Tensor sums = torch::tensor(squares, torch::kFloat64);
  sum_(sums);  // a rank that has no gradient at all has its part in it too
  for (const auto& [direction, at] : waiting) finish(direction, sums.data_ptr<double>() + at);
  return loss;
}

Lars::Lars(std::vector<torch::Tensor> parameters, LarsOptions options)
    : Lars({torch::optim::OptimizerParamGroup(std::move(parameters))}, options) {}

Lars::Lars(std::vector<torch::optim::OptimizerParamGroup> groups, LarsOptions options)
    : LayerwiseOptimizer(std::move(groups), std::make_unique<LarsOptions>(checked(options))) {}

bool Lars::is_layerwise(const OptimizerOptions& options) const {
  return static_cast<const LarsOptions&>(options).layerwise();
}

LayerwiseOptimizer::Direction Lars::direction_of(torch::Tensor parameter, OptimizerOptions& any) {
  const auto& options = static_cast<const LarsOptions&>(any);
  const torch::Tensor gradient = parameter.grad();
  return {parameter, &any, gradient.add(parameter, options.weight_decay()), gradient};
}

void Lars::apply(const Direction& direction, double norm, double gradient_norm) {
  const auto& options = static_cast<const LarsOptions&>(*direction.options);
  const double ratio = norm > 0 ? options.trust() * norm / (gradient_norm + options.weight_decay() * norm) : 1;
  torch::Tensor velocity = direction.direction.mul(options.lr() * ratio);
  if (options.momentum() > 0) {
    auto& state = state_of<torch::optim::SGDParamState>(*this, direction.parameter);
    if (!state.momentum_buffer().defined()) state.momentum_buffer(torch::zeros_like(direction.parameter));
    velocity = state.momentum_buffer().mul_(options.momentum()).add_(velocity);
  }
  torch::Tensor(direction.parameter).sub_(velocity);
}

Lamb::Lamb(std::vector<torch::Tensor> parameters, LambOptions options)
    : Lamb({torch::optim::OptimizerParamGroup(std::move(parameters))}, options) {}

Lamb::Lamb(std::vector<torch::optim::OptimizerParamGroup> groups, LambOptions options)
    : LayerwiseOptimizer(std::move(groups), std::make_unique<LambOptions>(checked(options))) {}

bool Lamb::is_layerwise(const OptimizerOptions& options) const {
  return static_cast<const LambOptions&>(options).layerwise();
}

LayerwiseOptimizer::Direction Lamb::direction_of(torch::Tensor parameter, OptimizerOptions& any) {
  const auto& options = static_cast<const LambOptions&>(any);
  const torch::Tensor gradient = parameter.grad();
  auto& state = state_of<torch::optim::AdamParamState>(*this, parameter);
  if (!state.exp_avg().defined()) {
    state.exp_avg(torch::zeros_like(parameter));
    state.exp_avg_sq(torch::zeros_like(parameter));
  }
  state.step(state.step() + 1);
  state.exp_avg().mul_(options.beta1()).add_(gradient, 1 - options.beta1());
  state.exp_avg_sq().mul_(options.beta2()).addcmul_(gradient, gradient, 1 - options.beta2());
  const auto times = static_cast<double>(state.step());
  torch::Tensor root = (state.exp_avg_sq() / (1 - std::pow(options.beta2(), times))).sqrt_().add_(options.eps());
  torch::Tensor update = (state.exp_avg() / (1 - std::pow(options.beta1(), times))).div_(root);
  update.add_(parameter, options.weight_decay());
  return {parameter, &any, update, update};
}

void Lamb::apply(const Direction& direction, double norm, double update_norm) {
  const auto& options = static_cast<const LambOptions&>(*direction.options);
  const double ratio = norm > 0 ? norm / update_norm : 1;
  torch::Tensor(direction.parameter).sub_(direction.direction, options.lr() * ratio);
}

}  // namespace lockstep
