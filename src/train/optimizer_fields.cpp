// What optimizers keep, by which torch's versions agree: its own archives name a parameter by its address, as text in
// 1.13 and as a number since 2, and what reads the other one crashes later.
#include "train/optimizer_fields.h"

#include <lockstep/error.h>
#include <lockstep/optim.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/adam.h>
#include <torch/optim/adamw.h>
#include <torch/optim/rmsprop.h>
#include <torch/optim/sgd.h>

#include <sstream>
#include <type_traits>

namespace lockstep {

namespace {

using namespace torch::optim;
using Fields = std::vector<std::pair<std::string, OptimizerField>>;

/// Adam and AdamW, which have the same.
template <class AdamState>
Fields adam_fields(AdamState& state) {
  return {{"step", &state.step()},
          {"exp_avg", &state.exp_avg()},
          {"exp_avg_sq", &state.exp_avg_sq()},
          {"max_exp_avg_sq", &state.max_exp_avg_sq()}};
}

/// What an optimizer's `state()` finds a parameter's state by: text in libtorch 1.13, an address in newer ones.
template <class Map>
typename Map::key_type key_in(const Map&, const torch::Tensor& parameter) {
  void* address = parameter.unsafeGetTensorImpl();
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    std::ostringstream text;
    text << address;
    return text.str();
  } else {
    return address;
  }
}

}  // namespace

Fields fields_of(OptimizerParamState& state) {
  if (auto* adam = dynamic_cast<AdamParamState*>(&state)) return adam_fields(*adam);
  if (auto* adamw = dynamic_cast<AdamWParamState*>(&state)) return adam_fields(*adamw);
  if (auto* sgd = dynamic_cast<SGDParamState*>(&state)) return {{"momentum_buffer", &sgd->momentum_buffer()}};
  if (auto* adagrad = dynamic_cast<AdagradParamState*>(&state))
    return {{"step", &adagrad->step()}, {"sum", &adagrad->sum()}};
  if (auto* rmsprop = dynamic_cast<RMSpropParamState*>(&state)) {
    return {{"step", &rmsprop->step()},
            {"square_avg", &rmsprop->square_avg()},
            {"momentum_buffer", &rmsprop->momentum_buffer()},
            {"grad_avg", &rmsprop->grad_avg()}};
  }
  return {};
}

std::unique_ptr<OptimizerParamState> make_state(const Optimizer& optimizer) {
  if (dynamic_cast<const Lamb*>(&optimizer)) return std::make_unique<AdamParamState>();
  if (dynamic_cast<const Lars*>(&optimizer)) return std::make_unique<SGDParamState>();
  if (dynamic_cast<const Adam*>(&optimizer)) return std::make_unique<AdamParamState>();
  if (dynamic_cast<const AdamW*>(&optimizer)) return std::make_unique<AdamWParamState>();
  if (dynamic_cast<const SGD*>(&optimizer)) return std::make_unique<SGDParamState>();
  if (dynamic_cast<const Adagrad*>(&optimizer)) return std::make_unique<AdagradParamState>();
  if (dynamic_cast<const RMSprop*>(&optimizer)) return std::make_unique<RMSpropParamState>();
  throw Error(ErrorCode::kUnsupported,
              "A checkpoint takes the state of SGD, Adam, AdamW, RMSprop, Adagrad, Lars and Lamb; this is another "
              "optimizer. Write a StatePart for it.");
}

OptimizerParamState* find_state(const Optimizer& optimizer, const torch::Tensor& parameter) {
  const auto found = optimizer.state().find(key_in(optimizer.state(), parameter));
  return found == optimizer.state().end() ? nullptr : found->second.get();
}

void put_state(Optimizer& optimizer, const torch::Tensor& parameter, std::unique_ptr<OptimizerParamState> state) {
  const auto key = key_in(optimizer.state(), parameter);
  if (state) {
    optimizer.state()[key] = std::move(state);
  } else {
    optimizer.state().erase(key);
  }
}

}  // namespace lockstep
