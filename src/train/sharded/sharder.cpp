#include "train/sharded/sharder.h"

#include <fmt/format.h>
#include <lockstep/prediction.h>

#include <algorithm>

#include "train/local_gradient.h"
#include "train/replicate.h"

namespace lockstep::detail {
namespace {

std::vector<std::pair<std::string, std::string>> contract(const std::vector<ModuleTensor>& tensors,
                                                          const ShardedOptions& options) {
  auto things = descriptions_of(tensors);
  things.emplace_back("option stage", std::to_string(options.stage));
  things.emplace_back("option first_bucket_bytes", std::to_string(options.first_bucket_bytes));
  things.emplace_back("option bucket_bytes", std::to_string(options.bucket_bytes));
  things.emplace_back("option algorithm", options.algorithm);
  things.emplace_back("option gather_as", std::to_string(static_cast<int>(options.gather_as)));
  things.emplace_back("option sharding", options.sharding == Sharding::kHost ? "kHost" : "kWorld");
  return things;
}

ShardedOptions checked(ShardedOptions options) {
  if (options.stage < 0 || options.stage > 3) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Sharded has no stage {}: 0 shards nothing, 1 the optimizer's state, 2 the gradients too, 3 the "
                    "parameters of wrapped blocks too.",
                    options.stage));
  }
  if (options.stage > 0 && options.bucket_bytes == kAuto) {
    throw Error(ErrorCode::kInvalidArgument,
                "Sharded picks no size of buckets at stages 1 to 3, where they are laid out once, with the parameters: "
                "give bucket_bytes a number.");
  }
  return options;
}

void require_dense(const std::vector<ModuleTensor>& parameters, int stage) {
  const auto sparse = std::find_if(parameters.begin(), parameters.end(), [](const auto& one) { return one.sparse; });
  if (sparse == parameters.end()) return;
  throw Error(
      ErrorCode::kUnsupported,
      fmt::format("'{}' is to get sparse gradients, which stage {} of Sharded does not cut: make its embedding's "
                  "gradients dense, or take stage 0.",
                  sparse->name, stage));
}

}  // namespace

std::vector<FlatLayout> flat_layouts(const std::vector<ModuleTensor>& parameters, BucketLimits limits, int pieces) {
  std::vector<FlatLayout> layouts;
  for (auto& bucket : lay_out(sizes_of(parameters), last_first(parameters.size()), limits)) {
    layouts.push_back(cut(std::move(bucket), static_cast<std::size_t>(pieces)));
  }
  return layouts;
}

Sharder::Sharder(const Group& group, ShardedOptions options)
    : group_(group),
      options_(checked(std::move(options))),
      groups_(shard_groups(group_, options_.stage == 0 ? Sharding::kWorld : options_.sharding)),
      share_(group_.attribute<BatchShare>()),
      pool_(std::make_shared<BufferPool>(groups_.shards)),
      wires_(std::make_shared<BufferPool>(groups_.shards)),
      schedule_({.prefetch = options_.prefetch, .reshard_after_forward = options_.reshard_after_forward}) {}

Sharder::~Sharder() = default;

void Sharder::attach(torch::nn::Module& module) {
  if (attached_) throw Error(ErrorCode::kInvalidArgument, "This Sharded has its module already: make one a module.");
  require_inside_blocks(module);
  const auto tensors = tensors_of(module);
  const auto rest = outside_blocks(tensors);
  require_equal(group_, contract(rest, options_));
  const auto is_trained = [](const ModuleTensor& tensor) { return tensor.trainable; };
  const bool any = std::any_of(rest.begin(), rest.end(), is_trained);
  if (scatters()) {
    broadcast_values(group_, rest);
    watch_.emplace(module);
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
  name_blocks(module);
  reached_.resize(parameters_.size());
  reached_here_.resize(parameters_.size());
  attached_ = true;
  gather_wholes(/*exact=*/false);  // ranks compute with what came through from the first forward on
}

void Sharder::gather_wholes(bool exact) {
  for (const auto& flat : flats_) {
    if (flat->keep() != Keep::kWhole || !flat->is_coded()) continue;
    exact ? flat->begin_exact_gather() : flat->begin_gather();
  }
  for (const auto& flat : flats_) {
    if (flat->keep() == Keep::kWhole) flat->finish_gather();
  }
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
  require_dense(parameters, options_.stage);
  predict_in_training(groups_.shards, bytes_of(parameters_));
  places_.resize(parameters_.size());
  std::vector<std::size_t> added;
  for (const FlatLayout& layout : flat_layouts(parameters, limits, groups_.shards.size())) {
    const std::size_t index = flats_.size();
    const auto& slots = layout.bucket.slots;
    for (std::size_t slot = 0; slot < slots.size(); ++slot) places_[first + slots[slot].parameter] = {index, slot};
    flats_.push_back(std::make_unique<ShardedFlat>(groups_.shards, pool_, layout, parameters,
                                                   FlatOptions(keep, options_.gather_as, wires_)));
    flats_.back()->log_gathers(gathers_, static_cast<int>(index));
    order_.push_back(index);
    block_of_flat_.emplace_back();
    added.push_back(index);
  }
  if (scatters()) add_hooks(first, added);
  return added;
}

void Sharder::add_hooks(std::size_t first, const std::vector<std::size_t>& flats) {
  for (const std::size_t flat : flats) {
    gradients_.push_back(std::make_shared<PieceGradients>(*flats_[flat]));
    const BucketLayout& bucket = flats_[flat]->layout().bucket;
    gradients_.back()->set_predicted_ms(predicted_ms(groups_.shards, Collective::kReduceScatter, bucket.bytes,
                                                     {.algorithm = options_.algorithm}, bucket.dtype));
  }
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
        groups_, pool_,
        ScatterOptions{.algorithm = options_.algorithm,
                       .overlap = options_.overlap,
                       .order = schedule_.size() == 0 ? order_ : std::vector<std::size_t>{}},
        gradients_);
    run_ = run;
    gathers_.begin_gradients();
    if (const auto open = backward_.lock()) {
      open->run = run;
    } else {
      at_end_of_backward([self = weak_from_this(), run] {
        if (const auto sharder = self.lock()) sharder->finish(*run);
      });
    }
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
  gathers_.sequence().note(run.sequence());
  const Sequence::Said said = gathers_.sequence().said();
  const std::string change = watch_->change();
  reached_ = reached_here_;
  reached_.push_back(change.empty() ? 0 : 1);
  reached_.insert(reached_.end(), said.begin(), said.end());
  group_.all_reduce(buffer_of(reached_), ReduceOp::kMax, {.purpose = "which parameters got a gradient"}).wait();
  const bool same = std::equal(said.begin(), said.end(), reached_.end() - said.size());
  const bool changed = reached_[reached_here_.size()] != 0;
  reached_.resize(reached_here_.size());
  if (changed) refuse_change(group_, change, "Sharded");
  if (!same) {
    throw Error(
        ErrorCode::kMismatch,
        "Ranks ran different blocks, or in different order, so that parts of one block came together with those "
        "of another: every rank has to run the same blocks in the same order, and reach the same parameters "
        "outside of them.",
        {.rank = group_.rank(), .operation = "Sharded"});
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i]) gradients_[places_[i].flat]->show(places_[i].slot);
  }
  report_ = run.report();
  report_.unreached = unreached();
  gathers_.take_into(report_);
  run_.reset();
  if (!order_agreed_ && schedule_.size() == 0) agree_on_order(run);
}

void Sharder::agree_on_order(const ScatterRun& run) {
  order_agreed_ = true;
  order_ = order_of_rank_zero(group_, run.order());
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
    result.push_back(piece_of(*flats_[places_[i].flat], places_[i].slot));
  }
  return result;
}

ParameterPiece Sharder::piece_of(const ShardedFlat& flat, std::size_t slot) const {
  const ModuleTensor& parameter = flat.parameter(slot);
  const std::int64_t begin = flat.begin(slot);
  return {parameter.name,
          parameter.tensor,
          flat.piece(slot),
          flat.whole(slot).sizes().vec(),
          begin,
          begin + flat.piece(slot).numel(),
          groups_.copy() > 0,
          flat.whole(slot).is_contiguous()};
}

std::vector<ParameterPiece> Sharder::checkpoint_pieces() {
  throw_fault();
  require_let_go("A checkpoint of pieces");
  for (const auto& flat : flats_) flat->adopt_replaced();
  std::vector<ParameterPiece> result = pieces();
  for (const auto& flat : fixed_) {
    for (std::size_t slot = 0; slot < flat->size(); ++slot) result.push_back(piece_of(*flat, slot));
  }
  return result;
}

std::size_t Sharder::registered_bytes() const {
  std::size_t bytes = buffer_bytes();
  for (const auto& flat : flats_) bytes += flat->keep() == Keep::kWhole ? flat->layout().bucket.bytes : 0;
  return bytes + (replica_ ? replica_->report().bytes : 0);
}

const SyncReport& Sharder::report() const {
  // Stage 1's own is the replica's, and the gathers of the step after it.
  const bool own = !replica_ || (!flats_.empty() && report_.last_gradient_us == replica_->report().last_gradient_us);
  return own ? report_ : replica_->report();
}

std::vector<std::string> Sharder::unreached() const {
  if (replica_) return replica_->parameters_without_gradient();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!reached_[i]) names.push_back(parameters_[i].name);
  }
  return names;
}

}  // namespace lockstep::detail
