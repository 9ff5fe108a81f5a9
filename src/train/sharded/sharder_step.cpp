// What stands between a backward and the next forward: clipping, and an optimizer's step on this rank's pieces.
#include <fmt/format.h>
#include <lockstep/one_bit_adam.h>
#include <lockstep/optim.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/lbfgs.h>

#include <cmath>
#include <cstring>

#include "train/gradient_norm.h"
#include "train/optimizer_fields.h"
#include "train/sharded/sharder.h"
#include "train/tensor.h"

namespace lockstep::detail {
namespace {

/// While it lives, norms that this optimizer takes of a parameter are of all ranks' pieces of it.
class NormsOfWholes {
 public:
  NormsOfWholes(LayerwiseOptimizer& optimizer, LayerwiseOptimizer::SumOverShards sum)
      : optimizer_(optimizer), before_(optimizer_.sum_norms_by(std::move(sum))) {}
  ~NormsOfWholes() { optimizer_.sum_norms_by(std::move(before_)); }
  NormsOfWholes(const NormsOfWholes&) = delete;
  NormsOfWholes& operator=(const NormsOfWholes&) = delete;

 private:
  LayerwiseOptimizer& optimizer_;
  LayerwiseOptimizer::SumOverShards before_;
};

}  // namespace

/// While it lives, parameters and their gradients are this rank's pieces.
class Sharder::InPieces {
 public:
  explicit InPieces(Sharder& sharder) : sharder_(sharder) {
    for (const auto& flat : sharder_.flats_) flat->release();
    if (sharder_.scatters()) return;
    for (std::size_t i = 0; i < sharder_.places_.size(); ++i) {
      auto& gradient = sharder_.parameters_[i].tensor.mutable_grad();
      wholes_.push_back(gradient);
      if (gradient.defined()) gradient = sharder_.part_of(gradient, i);
    }
  }
  ~InPieces() {
    for (const auto& flat : sharder_.flats_) {
      if (flat->keep() == Keep::kWhole) flat->show_whole();
    }
    for (std::size_t i = 0; i < wholes_.size(); ++i) sharder_.parameters_[i].tensor.mutable_grad() = wholes_[i];
  }
  InPieces(const InPieces&) = delete;
  InPieces& operator=(const InPieces&) = delete;

 private:
  Sharder& sharder_;
  std::vector<torch::Tensor> wholes_;  // stage 1: the gradients, by parameter
};

torch::Tensor Sharder::part_of(const torch::Tensor& gradient, std::size_t parameter) const {
  const auto [flat, slot] = places_[parameter];
  const ShardedFlat& values = *flats_[flat];
  if (values.piece(slot).numel() == 0) return {};
  torch::Tensor dense = gradient;
  if (gradient.strides() != values.whole(slot).strides()) {
    dense = torch::empty_strided(values.whole(slot).sizes(), values.whole(slot).strides(), gradient.options());
    dense.copy_(gradient);
  }
  return dense.as_strided({dense.numel()}, {1}).narrow(0, values.begin(slot), values.piece(slot).numel()).detach();
}

std::vector<std::string> Sharder::not_reduced() const {
  if (replica_) return replica_->parameters_not_reduced();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i].tensor.grad();
    if (gradient.defined() && !gradients_[places_[i].flat]->is_shown(places_[i].slot)) {
      names.push_back(parameters_[i].name);
    }
  }
  return names;
}

void Sharder::require_reduced() const {
  const auto names = not_reduced();
  if (names.empty()) return;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The gradient of '{}' was not reduced over the ranks: run the last backward before step() "
                          "and clip_grad_norm() outside pause().",
                          names.front()),
              {.rank = group_.rank(), .operation = "Sharded"});
}

void Sharder::require_let_go(const char* what) const {
  if (holders_ == 0) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("{} came while what gather() returned is held, so that parameters are whole: let it go first.", what),
      {.rank = group_.rank(), .operation = "Sharded"});
}

void Sharder::require_takes(const torch::optim::Optimizer& optimizer) const {
  if (dynamic_cast<const torch::optim::LBFGS*>(&optimizer) != nullptr) {
    throw Error(
        ErrorCode::kUnsupported,
        "Sharded does not take LBFGS, which looks at all parameters at once: use an optimizer that works element "
        "by element, or DataParallel.");
  }
  if (options_.stage > 0 && dynamic_cast<const OneBitAdam*>(&optimizer) != nullptr) {
    throw Error(
        ErrorCode::kUnsupported,
        "Sharded does not take OneBitAdam at stages 1 to 3, where ranks hold pieces of different parameters and "
        "it would average one with another: use it with DataParallel, or Adam here.");
  }
}

void Sharder::step(torch::optim::Optimizer& optimizer) {
  require_takes(optimizer);
  require_attached();
  throw_fault();
  require_let_go("step()");
  require_reduced();
  for (const auto& flat : flats_) flat->adopt_replaced();
  for (const auto& flat : flats_) flat->require_as_gathered();
  cut_eager_state(optimizer);
  {
    const InPieces in_pieces(*this);
    auto* const layerwise = flats_.empty() ? nullptr : dynamic_cast<LayerwiseOptimizer*>(&optimizer);
    std::optional<NormsOfWholes> norms;
    if (layerwise != nullptr) {
      norms.emplace(*layerwise, [this](torch::Tensor& squares) {
        sum_over_shards(buffer_of(squares), "norms of parameters and updates");
      });
    }
    optimizer.step();
  }
  gathers_.enter(kStepPhase);
  gather_new_values();
  gathers_.enter("");
  if (replica_ && !flats_.empty()) report_ = report();
  gathers_.take_into(report_);
}

void Sharder::gather_new_values() {
  // What a graph saved of the old values must not pass for them. (Where this rank has no part nothing was written, and
  // SGD writes in a way that autograd does not see.)
  for (const auto& parameter : parameters_) parameter.tensor.unsafeGetTensorImpl()->bump_version();
  for (const auto& flat : flats_) {
    if (flat->keep() == Keep::kWhole) flat->begin_gather();
  }
  for (const auto& flat : flats_) flat->finish_gather();
}

void Sharder::pieces_loaded() {
  for (auto* flats : {&flats_, &fixed_}) {
    for (const auto& flat : *flats) {
      if (flat->keep() == Keep::kPiece) flat->release();
    }
  }
  gather_new_values();
}

void Sharder::cut_eager_state(torch::optim::Optimizer& optimizer) const {
  if (flats_.empty() || dynamic_cast<torch::optim::Adagrad*>(&optimizer) == nullptr) return;
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    auto* const found = find_state(optimizer, parameters_[i].tensor);
    if (found == nullptr) continue;
    auto& state = static_cast<torch::optim::AdagradParamState&>(*found);
    const auto [flat, slot] = places_[i];
    if (state.sum().sizes() != flats_[flat]->whole(slot).sizes() ||
        state.sum().sizes() == flats_[flat]->piece(slot).sizes())
      continue;
    const auto part = part_of(state.sum(), i);
    state.sum(part.defined() ? part.clone() : torch::empty({0}, state.sum().options()));
  }
}

void Sharder::sum_over_shards(Buffer sums, const char* purpose) const {
  // Copies that each had their own sum could differ in the last bit, and from then on in all they train.
  if (groups_.copy() > 0) std::memset(sums.data, 0, sums.bytes());
  group_.all_reduce(sums, ReduceOp::kSum, {.purpose = purpose}).wait();
}

double Sharder::clip_grad_norm(double max_norm) {
  require_norm(max_norm);
  require_reduced();
  if (replica_) return replica_->clip_grad_norm(max_norm);
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parameters;
  std::vector<double> sum{0};
  for (const auto& parameter : parameters_) {
    parameters.push_back(parameter.tensor);
    if (parameter.tensor.grad().defined()) sum[0] += sum_of_squares(parameter.tensor.grad());
  }
  sum_over_shards(buffer_of(sum), "norm of the gradients");
  const double norm = std::sqrt(sum[0]);
  clip(parameters, norm, max_norm);
  return norm;
}

}  // namespace lockstep::detail
