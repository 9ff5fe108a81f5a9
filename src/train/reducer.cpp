#include "train/reducer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/prediction.h>

#include <algorithm>

#include "train/buffer_sync.h"
#include "train/local_gradient.h"
#include "train/non_finite.h"
#include "train/reached.h"
#include "train/replicate.h"

namespace lockstep::detail {
namespace {

/// Everything that must be the same on all ranks, for require_equal.
std::vector<std::pair<std::string, std::string>> contract(const std::vector<ModuleTensor>& tensors,
                                                          const DataParallelOptions& options) {
  auto things = descriptions_of(tensors);
  things.emplace_back("option first_bucket_bytes", std::to_string(options.first_bucket_bytes));
  things.emplace_back("option bucket_bytes", std::to_string(options.bucket_bytes));
  things.emplace_back("option rebuild_buckets", options.rebuild_buckets ? "on" : "off");
  things.emplace_back("option algorithm", options.algorithm);
  things.emplace_back("option non_finite", std::to_string(static_cast<int>(options.non_finite)));
  things.emplace_back("option buffers", std::to_string(static_cast<int>(options.buffers)));
  things.emplace_back("option communication_hook", options.communication_hook ? "set" : "not set");
  things.emplace_back("option static_graph", options.static_graph ? "on" : "off");
  things.emplace_back("option sparse_parameters", fmt::format("{}", fmt::join(options.sparse_parameters, ", ")));
  return things;
}

}  // namespace

namespace {

void require_no_hook(const DataParallelOptions& options) {
  if (options.bucket_bytes != kAuto || !options.communication_hook) return;
  throw Error(ErrorCode::kInvalidArgument,
              "DataParallel cannot pick the size of buckets for a communication hook, of whose cost it knows nothing: "
              "give bucket_bytes a number.");
}

}  // namespace

Reducer::Reducer(const Group& group, const std::vector<ModuleTensor>& tensors, std::vector<ModuleTensor> buffers,
                 ParameterWatch watch, DataParallelOptions options)
    : group_(group),
      options_(std::move(options)),
      share_(group_.attribute<BatchShare>()),
      listeners_(group_.attribute<GradientListeners>()),
      sparse_(group_),
      module_buffers_(std::move(buffers)),
      watch_(std::move(watch)),
      rebuild_pending_(options_.rebuild_buckets) {
  require_no_hook(options_);
  require_equal(group_, contract(tensors, options_));
  parameters_ = trainable_of(tensors, "DataParallel");
  sparse_.adopt(take_sparse(parameters_, options_.sparse_parameters));
  broadcast_values(group_, tensors);

  const std::size_t count = parameters_.size();
  if (options_.bucket_bytes == kAuto) choice_.emplace(group_, sizes_of(parameters_));
  buckets_ = make_buckets(lay_out_in(last_first(count)), [](const Bucket&) {});
  reached_memory_ = group_.allocate(count + 1);
  reached_ = static_cast<std::uint8_t*>(reached_memory_.data());
  reached_here_.resize(count);
  expected_.resize(count, options_.static_graph ? kAnyNumber : 1);
  look_ = std::make_shared<const GradientListeners::Look>([this] { refuse_replaced(); });
  listeners_.add(look_);
  for (std::size_t i = 0; i < count; ++i) {
    hooks_.emplace_back(
        parameters_[i].tensor, [this, i](const torch::Tensor& gradient) { return weighted(i, gradient); },
        [this, i] { on_gradient(i); });
  }
  for (std::size_t i = 0; i < sparse_.parameters().size(); ++i) {
    hooks_.emplace_back(
        sparse_.parameters()[i].tensor,
        [this, i](const torch::Tensor& gradient) {
          return sparse_.weighted(i, gradient, share_.factor(group_.size()));
        },
        [this, i] { on_sparse_gradient(i); });
  }
}

std::vector<BucketLayout> Reducer::lay_out_in(const std::vector<std::size_t>& order) const {
  const std::size_t limit = choice_ ? choice_->bucket_bytes() : options_.bucket_bytes;
  return lay_out(sizes_of(parameters_), order, {std::min(options_.first_bucket_bytes, limit), limit});
}

std::shared_ptr<const BucketSet> Reducer::make_buckets(const std::vector<BucketLayout>& layouts,
                                                       const std::function<void(const Bucket&)>& made) const {
  auto buckets = std::make_shared<BucketSet>(group_, layouts, parameters_, made);
  predict_in_training(group_, bytes_of(parameters_));
  if (!options_.communication_hook) buckets->predict(group_, options_.algorithm);
  return buckets;
}

torch::Tensor Reducer::weighted(std::size_t parameter, const torch::Tensor& gradient) const {
  require_buckets();  // here, where every gradient passes first
  const auto type = buckets_->slot_of(parameter).scalar_type();
  return lockstep::weighted(gradient, share_.factor(group_.size()),
                            {parameters_[parameter].name, type, group_.rank(), "DataParallel"});
}

bool Reducer::in_slot(std::size_t parameter) const {
  const auto& gradient = parameters_[parameter].tensor.grad();
  const auto& slot = buckets_->slot_of(parameter);
  return gradient.defined() && gradient.data_ptr() == slot.data_ptr() && gradient.strides() == slot.strides();
}

void Reducer::on_gradient(std::size_t parameter) {
  torch::NoGradGuard no_grad;
  const bool paused = pause_depth_ > 0;
  const auto run = paused ? nullptr : current_run();
  listeners_.heard();
  const bool too_many = run && run->came()[parameter] >= expected_[parameter];
  if (too_many && !options_.static_graph) {
    refuse_second_gradient(parameters_[parameter].name, group_.rank(), "DataParallel");
  }
  if (run) run->note(parameter);
  if (too_many) return;  // its bucket may have left: all ranks are told at the end
  if (!in_slot(parameter)) {
    auto& gradient = parameters_[parameter].tensor.mutable_grad();
    buckets_->slot_of(parameter).copy_(gradient);
    gradient = buckets_->slot_of(parameter);
  }
  reached_here_[parameter] = verdict_of(parameter);
  if (run) run->advance(parameter);
}

std::uint8_t Reducer::verdict_of(std::size_t parameter) const {
  const bool looks = options_.non_finite != NonFinite::kIgnore;
  return looks && has_non_finite(buckets_->slot_of(parameter)) ? non_finite_on(group_.rank()) : kReached;
}

void Reducer::on_sparse_gradient(std::size_t parameter) {
  listeners_.heard();
  if (pause_depth_ == 0) current_run()->note();
  sparse_.note(parameter, options_.non_finite != NonFinite::kIgnore);
}

std::shared_ptr<BackwardRun> Reducer::current_run() {
  auto run = run_.lock();
  if (!run) {
    require_buckets();
    run = std::make_shared<BackwardRun>(group_, options_, buckets_, expected_);
    run_ = run;
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      if (expected_[i] == 0) fill_slot(i);  // nobody waits for it
    }
    at_end_of_backward([self = weak_from_this(), run] {
      if (const auto reducer = self.lock()) reducer->finish(*run);
    });
  }
  return run;
}

void Reducer::finish(BackwardRun& run) {
  torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < expected_.size(); ++i) {
    if (expected_[i] > 0 && !run.has(i)) fill_slot(i);
  }
  std::copy(reached_here_.begin(), reached_here_.end(), reached_);
  const std::string trouble = trouble_of(run);
  std::uint8_t& troubled = reached_[reached_here_.size()];
  troubled = trouble.empty() ? 0 : 1;
  run.complete({reached_, reached_here_.size() + 1, DataType::kUInt8});
  const std::size_t sparse_bytes = sparse_.reduce();
  take_means();
  std::fill(reached_here_.begin(), reached_here_.end(), kNotReached);
  report_ = run.report();
  report_.bytes += sparse_bytes;
  report_.unreached = unreached();
  run_.reset();
  if (troubled != 0) refuse_together(group_, trouble, "DataParallel");
  if (options_.static_graph) expected_ = run.came();
  const bool picked = choice_ && choice_->note(report_);
  if (rebuild_pending_ || picked) rebuild(run);
  if (choice_) report_.bucket_choice = choice_->reason();
  synchronise_buffers(group_, module_buffers_, options_.buffers, share_.factor(group_.size()));
  if (options_.non_finite != NonFinite::kIgnore) judge_non_finite();
}

void Reducer::judge_non_finite() {
  auto& found = report_.non_finite;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i] >= kNonFiniteOnRankZero) found.push_back({parameters_[i].name, reached_[i] - kNonFiniteOnRankZero});
  }
  for (auto& sparse : sparse_.non_finite()) found.push_back(std::move(sparse));
  if (found.empty()) return;
  if (options_.non_finite == NonFinite::kSkip) {
    for (const auto& parameter : parameters()) parameter.mutable_grad() = torch::Tensor();
    report_.skipped = true;
    return;
  }
  throw Error(ErrorCode::kNonFinite,
              fmt::format("The gradient of '{}' is infinite or not a number on rank {}{}. The parameters are as they "
                          "were: lower the learning rate, clip gradients, or skip such updates by "
                          "non_finite = NonFinite::kSkip.",
                          found.front().parameter, found.front().rank,
                          found.size() > 1 ? fmt::format(", and so are those of {} more", found.size() - 1) : ""),
              {.rank = group_.rank(), .peer = found.front().rank, .operation = "DataParallel"});
}

std::string Reducer::trouble_of(const BackwardRun& run) const {
  const std::string change = watch_.change();
  if (!change.empty()) return refusal_of(change, group_.rank(), "DataParallel");
  for (std::size_t i = 0; options_.static_graph && i < expected_.size(); ++i) {
    if (expected_[i] == kAnyNumber || expected_[i] == run.came()[i]) continue;
    return fmt::format(
        "Parameter '{}' got {} gradients in a backward of rank {} and {} in the first one, like which all are to be "
        "with static_graph = true: give losses the same graph in each iteration, or leave static_graph off.",
        parameters_[i].name, run.came()[i], group_.rank(), expected_[i]);
  }
  return "";
}

void Reducer::fill_slot(std::size_t parameter) {
  auto& gradient = parameters_[parameter].tensor.mutable_grad();
  const auto& slot = buckets_->slot_of(parameter);
  if (!gradient.defined()) {
    reached_here_[parameter] = kNotReached;
    slot.zero_();
    return;
  }
  const bool is_slot = in_slot(parameter);
  if (!is_slot) slot.copy_(gradient);
  if (reached_here_[parameter] != kNotReached) {  // under pause(), or by a backward that threw
    gradient = slot;
    reached_here_[parameter] = verdict_of(parameter);
  } else if (is_slot) {
    gradient = slot.clone();  // if no rank reached it, it stays what it is; if one did, take_means puts the slot back
  }
}

void Reducer::refuse_replaced() const {
  const std::string change = watch_.change_that_trained();
  if (change.empty()) return;
  throw Error(ErrorCode::kMismatch, refusal_of(change, group_.rank(), "DataParallel"),
              {.rank = group_.rank(), .peer = group_.rank(), .operation = "DataParallel"});
}

void Reducer::take_means() {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i] != kNotReached && !in_slot(i)) parameters_[i].tensor.mutable_grad() = buckets_->slot_of(i);
  }
}

void Reducer::require_buckets() const {
  if (buckets_) return;
  throw Error(
      ErrorCode::kOutOfMemory,
      "DataParallel had no memory to lay its buckets out anew, and synchronises no longer; the gradients are as "
      "they were. Make room in shared memory (/dev/shm), and wrap the model again.");
}

void Reducer::rebuild(BackwardRun& run) {
  rebuild_pending_ = false;
  const bool in_ready_order = options_.rebuild_buckets;
  std::vector<std::size_t> order = in_ready_order ? run.order() : std::vector<std::size_t>{};
  // Those that did not come stay behind the others, in the order they have now.
  for (const Bucket& bucket : buckets_->buckets()) {
    for (const Slot& slot : bucket.layout().slots) {
      if (!in_ready_order || !run.has(slot.parameter)) order.push_back(slot.parameter);
    }
  }
  const auto layouts = lay_out_in(order_of_rank_zero(group_, order));
  if (layouts == buckets_->layouts()) return;
  std::vector<bool> moves(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) moves[i] = in_slot(i);
  // From here on only gradients hold the old buckets, each of which goes when its last gradient has moved: there is
  // never memory for all gradients twice.
  run.forget_buckets();
  buckets_.reset();
  buckets_ = make_buckets(layouts, [&](const Bucket& bucket) {
    for (std::size_t i = 0; i < bucket.slots().size(); ++i) {
      const std::size_t parameter = bucket.layout().slots[i].parameter;
      if (!moves[parameter]) continue;
      auto& gradient = parameters_[parameter].tensor.mutable_grad();
      bucket.slots()[i].copy_(gradient);
      gradient = bucket.slots()[i];
    }
  });
}

std::vector<torch::Tensor> Reducer::parameters() const {
  std::vector<torch::Tensor> tensors;
  for (const ModuleTensor& parameter : parameters_) tensors.push_back(parameter.tensor);
  for (const ModuleTensor& parameter : sparse_.parameters()) tensors.push_back(parameter.tensor);
  return tensors;
}

std::vector<std::string> Reducer::not_reduced() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_here_[i] != kNotReached && is_not_zero(parameters_[i].tensor.grad()))
      names.push_back(parameters_[i].name);
  }
  for (auto& name : sparse_.not_reduced()) names.push_back(std::move(name));
  return names;
}

std::vector<std::string> Reducer::unreached() const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (reached_[i] == kNotReached) names.push_back(parameters_[i].name);
  }
  for (auto& name : sparse_.unreached()) names.push_back(std::move(name));
  return names;
}

}  // namespace lockstep::detail
