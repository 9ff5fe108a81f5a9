#include "train/sharded/sharder.h"

#include <fmt/format.h>
#include <torch/optim/adagrad.h>
#include <torch/optim/lbfgs.h>

#include <algorithm>
#include <cmath>

#include "train/gradient_norm.h"
#include "train/local_gradient.h"
#include "train/optimizer_fields.h"
#include "train/replicate.h"
#include "train/tensor.h"

namespace lockstep::detail {
namespace {

std::vector<std::pair<std::string, std::string>> contract(const std::vector<ModuleTensor>& tensors,
                                                          const ShardedOptions& options) {
  std::vector<std::pair<std::string, std::string>> things;
  for (const auto& tensor : tensors) things.emplace_back(tensor.name, tensor.description());
  things.emplace_back("option stage", std::to_string(options.stage));
  things.emplace_back("option first_bucket_bytes", std::to_string(options.first_bucket_bytes));
  things.emplace_back("option bucket_bytes", std::to_string(options.bucket_bytes));
  things.emplace_back("option algorithm", options.algorithm);
  return things;
}

void require_stage(int stage) {
  if (stage >= 0 && stage <= 3) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("Sharded has no stage {}: 0 shards nothing, 1 the optimizer's state, 2 the gradients too, 3 the "
                  "parameters of wrapped blocks too.",
                  stage));
}

}  // namespace

std::vector<FlatLayout> flat_layouts(const std::vector<ModuleTensor>& parameters, BucketLimits limits, int pieces) {
  std::vector<FlatLayout> layouts;
  for (auto& bucket : lay_out(sizes_of(parameters), last_first(parameters.size()), limits)) {
    layouts.push_back(cut(std::move(bucket), static_cast<std::size_t>(pieces)));
  }
  return layouts;
}

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

Sharder::Sharder(const Group& group, ShardedOptions options)
    : group_(group),
      options_(std::move(options)),
      share_(group_.attribute<BatchShare>()),
      pool_(std::make_shared<BufferPool>(group_)),
      schedule_({.prefetch = options_.prefetch, .reshard_after_forward = options_.reshard_after_forward}) {
  require_stage(options_.stage);
}

Sharder::~Sharder() = default;

void Sharder::attach(torch::nn::Module& module) {
  if (attached_) throw Error(ErrorCode::kInvalidArgument, "This Sharded has its module already: make one a module.");
  const auto tensors = tensors_of(module);
  const auto rest = outside_blocks(tensors);
  require_equal(group_, contract(rest, options_));
  const auto is_trained = [](const ModuleTensor& tensor) { return tensor.trainable; };
  const bool any = std::any_of(rest.begin(), rest.end(), is_trained);
  if (scatters()) {
    broadcast_values(group_, rest);
  } else {
    replica_ = std::make_unique<DataParallel>(group_, module,
                                              DataParallelOptions{.first_bucket_bytes = options_.first_bucket_bytes,
                                                                  .bucket_bytes = options_.bucket_bytes,
                                                                  .overlap = options_.overlap,
                                                                  .algorithm = options_.algorithm});
  }
  if (any || parameters_.empty()) {
    add_flats(trainable_of(rest, "Sharded"), {options_.first_bucket_bytes, options_.bucket_bytes}, Keep::kWhole);
  }
  take_names(tensors);
  reached_.resize(parameters_.size());
  reached_here_.resize(parameters_.size());
  attached_ = true;
}

void Sharder::require_attached() const {
  if (attached_) return;
  throw Error(ErrorCode::kInvalidArgument,
              "Sharded was not given the module that its blocks are part of: call attach() before the first backward.");
}

std::vector<std::size_t> Sharder::add_flats(const std::vector<ModuleTensor>& parameters, BucketLimits limits,
                                            Keep keep) {
  const std::size_t first = parameters_.size();
  parameters_.insert(parameters_.end(), parameters.begin(), parameters.end());
  if (options_.stage == 0) return {};
  places_.resize(parameters_.size());
  std::vector<std::size_t> added;
  for (const FlatLayout& layout : flat_layouts(parameters, limits, group_.size())) {
    const std::size_t index = flats_.size();
    const auto& slots = layout.bucket.slots;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) places_[first + slots[slot].parameter] = {index, slot};
    flats_.push_back(std::make_unique<ShardedFlat>(group_, pool_, layout, parameters, keep));
    order_.push_back(index);
    block_of_flat_.emplace_back();
    added.push_back(index);
  }
  if (scatters()) add_hooks(first, added);
  return added;
}

void Sharder::add_hooks(std::size_t first, const std::vector<std::size_t>& flats) {
  for (const std::size_t flat : flats) gradients_.push_back(std::make_shared<PieceGradients>(*flats_[flat]));
  for (std::size_t i = first; i < parameters_.size(); ++i) {
    hooks_.emplace_back(
        parameters_[i].tensor, [this, i](const torch::Tensor& gradient) { return before_gradient(i, gradient); },
        [this, i] { on_gradient(i); });
  }
}

torch::Tensor Sharder::before_gradient(std::size_t parameter, const torch::Tensor& gradient) {
  const auto [flat, slot] = places_[parameter];
  const auto type = gradients_[flat]->flat().whole(slot).scalar_type();
  const auto weighted = lockstep::weighted(gradient, share_.factor(group_.size()),
                                           {parameters_[parameter].name, type, group_.rank(), "Sharded"});
  torch::NoGradGuard no_grad;
  if (pause_depth_ == 0) {
    gradients_[flat]->hide(slot);
  } else if (gradients_[flat]->is_shown(slot)) {
    parameters_[parameter].tensor.mutable_grad() = gradients_[flat]->spread(slot);
  }
  return weighted;
}

void Sharder::on_gradient(std::size_t parameter) {
  torch::NoGradGuard no_grad;
  const auto [flat, slot] = places_[parameter];
  const auto run = pause_depth_ > 0 ? nullptr : current_run();
  if (run) {
    run->take(flat, slot, parameters_[parameter].tensor.grad());
    reached_here_[parameter] = 1;
    gradients_[flat]->put_back(slot);
  }
  if (block_of_flat_[flat]) {
    open_backward();
    schedule_.gradient_came(*block_of_flat_[flat]);
  }
  if (run) run->advance();
}

std::shared_ptr<ScatterRun> Sharder::current_run() {
  auto run = run_.lock();
  if (!run) {
    require_attached();
    std::fill(reached_here_.begin(), reached_here_.end(), std::uint8_t{0});
    run = std::make_shared<ScatterRun>(
        group_, pool_,
        ScatterOptions{.algorithm = options_.algorithm,
                       .overlap = options_.overlap,
                       .order = schedule_.size() == 0 ? order_ : std::vector<std::size_t>{}},
        gradients_);
    run_ = run;
    at_end_of_backward([self = weak_from_this(), run] {
      if (const auto sharder = self.lock()) sharder->finish(*run);
    });
  }
  return run;
}

void Sharder::finish(ScatterRun& run) {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto [flat, slot] = places_[i];
    auto& gradient = parameters_[i].tensor.mutable_grad();
    if (reached_here_[i] || !gradient.defined() || gradients_[flat]->is_shown(slot)) continue;
    run.take(flat, slot, gradient);  // accumulated under pause(), and not reached since
    gradient = torch::Tensor();
    reached_here_[i] = 1;
  }
  run.complete();
  reached_ = reached_here_;
  group_.all_reduce(buffer_of(reached_), ReduceOp::kMax, {.purpose = "which parameters got a gradient"}).wait();
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i]) gradients_[places_[i].flat]->show(places_[i].slot);
  }
  report_ = run.report();
  run_.reset();
  if (!order_agreed_ && schedule_.size() == 0) agree_on_order(run);
}

void Sharder::agree_on_order(const ScatterRun& run) {
  order_agreed_ = true;
  order_ = order_of_rank_zero(group_, run.order());
}

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

void Sharder::require_reduced() const {
  if (!scatters()) return;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto& gradient = parameters_[i].tensor.grad();
    if (!gradient.defined() || gradients_[places_[i].flat]->is_shown(places_[i].slot)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("The gradient of '{}' was not reduced over the ranks: run the last backward before step() "
                            "and clip_grad_norm() outside pause().",
                            parameters_[i].name),
                {.rank = group_.rank(), .operation = "Sharded"});
  }
}

void Sharder::step(torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<torch::optim::LBFGS*>(&optimizer) != nullptr) {
    throw Error(
        ErrorCode::kUnsupported,
        "Sharded does not take LBFGS, which looks at all parameters at once: use an optimizer that works element "
        "by element, or DataParallel.");
  }
  require_attached();
  require_reduced();
  cut_eager_state(optimizer);
  {
    const InPieces in_pieces(*this);
    optimizer.step();
  }
  // What a graph saved of the old values must not pass for them. (Where this rank has no part nothing was written, and
  // SGD writes in a way that autograd does not see.)
  for (const auto& parameter : parameters_) parameter.tensor.unsafeGetTensorImpl()->bump_version();
  for (const auto& flat : flats_) {
    if (flat->keep() == Keep::kWhole) flat->begin_gather();
  }
  for (const auto& flat : flats_) flat->finish_gather();
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

double Sharder::clip_grad_norm(double max_norm) {
  if (replica_) return replica_->clip_grad_norm(max_norm);
  require_norm(max_norm);
  require_reduced();
  torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> parameters;
  std::vector<double> sum{0};
  for (const auto& parameter : parameters_) {
    parameters.push_back(parameter.tensor);
    if (parameter.tensor.grad().defined()) sum[0] += sum_of_squares(parameter.tensor.grad());
  }
  group_.all_reduce(buffer_of(sum), ReduceOp::kSum, {.purpose = "norm of the gradients"}).wait();
  const double norm = std::sqrt(sum[0]);
  clip(parameters, norm, max_norm);
  return norm;
}

std::shared_ptr<void> Sharder::pause() {
  if (replica_) return std::shared_ptr<DataParallel::Pause>(new DataParallel::Pause(replica_->pause()));
  ++pause_depth_;
  return {nullptr, [self = shared_from_this()](void*) { --self->pause_depth_; }};
}

std::vector<ParameterPiece> Sharder::pieces() const {
  std::vector<ParameterPiece> result;
  for (const std::size_t i : module_order_) {
    const std::string& name = parameters_[i].name;
    const torch::Tensor& tensor = parameters_[i].tensor;
    if (flats_.empty()) {
      const auto values = tensor.detach();
      result.push_back(
          {name, tensor, values.as_strided({values.numel()}, {1}), tensor.sizes().vec(), 0, tensor.numel()});
      continue;
    }
    const auto [flat, slot] = places_[i];
    const ShardedFlat& values = *flats_[flat];
    const std::int64_t begin = values.begin(slot);
    result.push_back({name, tensor, values.piece(slot), values.whole(slot).sizes().vec(), begin,
                      begin + values.piece(slot).numel()});
  }
  return result;
}

const SyncReport& Sharder::report() const { return replica_ ? replica_->report() : report_; }

std::vector<std::string> Sharder::unreached() const {
  if (replica_) return replica_->parameters_without_gradient();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!reached_[i]) names.push_back(parameters_[i].name);
  }
  return names;
}

}  // namespace lockstep::detail
