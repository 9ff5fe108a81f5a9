#include "lab/classifier/training.h"

#include "base/clock.h"
#include "lab/classifier/memory.h"
#include "lab/require.h"
#include "lab/steps.h"
#include "lab/sync_record.h"
#include "lab/together.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <lockstep/mixed_precision.h>
#include <torch/utils.h>

#include <limits>
#include <optional>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

/// Of the run that goes on, else of this one: a run that goes on elsewhere leaves the old one as it is.
fs::path checkpoint_folder(const fs::path& run) { return run / "checkpoints"; }

std::int64_t part_of_batch(const Recipe& recipe) { return recipe.batch / recipe.accumulate; }

ShardedOptions sharding_of(const ClassifierOptions& options) {
  ShardedOptions sharding = options.sharding;
  sharding.stage = options.recipe.stage;
  return sharding;
}

/// A run that begins anew would save beside the checkpoints of an earlier one, and --resume take that one's.
void require_unused(const fs::path& run) {
  if (!fs::exists(checkpoint_folder(run)) || fs::is_empty(checkpoint_folder(run))) return;
  require(false,
          fmt::format("{0} has checkpoints of an earlier run: go on with it by --resume {0}, name another folder "
                      "by --out, or remove {1}.",
                      run.string(), checkpoint_folder(run).string()));
}

/// A model that is the best so far goes with the run.
void copy_best(const fs::path& from, const fs::path& to) {
  const fs::path partial = to.string() + ".partial";
  try {
    if (!fs::exists(from) || (fs::exists(to) && fs::equivalent(from, to))) return;
    fs::remove_all(partial);
    fs::copy(from, partial, fs::copy_options::recursive);
    fs::remove_all(to);
    fs::rename(partial, to);
  } catch (const fs::filesystem_error& error) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    refuse(fmt::format("The best model of the run to go on with, {}, cannot be copied to {}: {}.", from.string(),
                       to.string(), error.code().message()));
  }
}

}  // namespace

ClassifierTraining::ClassifierTraining(const Group& group, ClassifierTask& task)
    : group_(group),
      task_(task),
      sharded_(group, sharding_of(task.options())),
      training_(task.training_loader(group, part_of_batch(task.options().recipe))),
      evaluation_(task.evaluation_loader(group)),
      metrics_(group, {"loss", "accuracy"}),
      batches_(*training_, task.examples(), part_of_batch(task.options().recipe)),
      updates_(task.options().recipe.updates(task.examples())) {
  const ClassifierOptions& options = task.options();
  together(group, [&] {
    if (options.resume.empty() && group.rank() == 0) require_unused(options.output.folder());
  });
  torch::manual_seed(options.recipe.seed);
  model_ = task.make_model(group_, sharded_);
  sharded_.attach(*model_);
  if (options.resume.empty()) {
    const auto whole = sharded_.gather();
    together(group, [&] { task.load_weights(); });
  }
  optimizer_ = task.make_optimizer(sharded_);
  if (!options.resume.empty()) load_checkpoint();
}

std::uint64_t ClassifierTraining::parameters() const {
  std::uint64_t count = 0;
  for (const ParameterPiece& piece : sharded_.pieces())
    count += static_cast<std::uint64_t>(c10::multiply_integers(piece.shape));
  return count;
}

TrainingState ClassifierTraining::state() {
  TrainingState state;
  state.module("model", *model_)
      .optimizer("optimizer", *optimizer_, sharded_)
      .loader("loader", *training_)
      .counter("best_correct", best_.correct)
      .counter("best_examples", best_.examples)
      .counter("best_iteration", best_iteration_)
      .counter("worse", worse_);
  return state;
}

void ClassifierTraining::load_checkpoint() {
  const fs::path run = task_.options().resume;
  TrainingState all = state();
  const auto whole = sharded_.gather();
  const auto iteration = Checkpoints(group_, checkpoint_folder(run)).load(all);
  together(group_, [&] {
    require(iteration.has_value(), fmt::format("--resume {} has no checkpoint to go on from.", run.string()));
    require(*iteration < updates_, fmt::format("{} has {} iterations already, and {} are asked for: ask for more with "
                                               "--iterations to go on.",
                                               run.string(), *iteration, updates_));
    if (group_.rank() != 0) return;
    const OutputOptions& output = task_.options().output;
    make_folder(output);
    copy_best(run / best_folder(output).filename(), best_folder(output));
  });
  done_ = *iteration;
}

void ClassifierTraining::save_checkpoint(std::int64_t iteration) {
  if (!checkpoints_) checkpoints_.emplace(group_, checkpoint_folder(task_.options().output.folder()));
  task_.before_evaluation(group_);  // a checkpoint takes buffers for the same on all ranks
  const auto whole = sharded_.gather();
  checkpoints_->save(iteration, state());
}

void ClassifierTraining::compute_part(TrainingTrace& trace, std::int64_t of_update) {
  const auto start = Clock::now();
  const std::int64_t samples = batches_.samples_ahead(1);
  Batch& batch = trace.measure("data", [&]() -> Batch& { return batches_.next(); });
  data_wait_ms_ += milliseconds_since(start);
  examples_ += samples;
  torch::Tensor logits, loss;
  trace.measure("forward", [&] {
    std::optional<Autocast> autocast;
    if (task_.options().recipe.bf16) autocast.emplace();
    logits = task_.logits(batch);
    loss = classification_loss(logits, batch.target);
  });
  // The same on each rank; within a part the loader has each rank count by its samples.
  const double weight = static_cast<double>(samples) / static_cast<double>(of_update);
  trace.measure("backward", [&] { (loss * weight).backward(); });
  metrics_.add("loss", loss.item<double>(), batch.samples);
  const auto correct = static_cast<double>(count_correct(logits, batch.target));
  metrics_.add("accuracy", correct / static_cast<double>(batch.target.size(0)), batch.samples);
}

void ClassifierTraining::compute_gradient(TrainingTrace& trace) {
  const std::int64_t parts = task_.options().recipe.accumulate;
  const std::int64_t of_update = batches_.samples_ahead(parts);
  if (parts > 1) {
    const auto paused = sharded_.pause();
    for (std::int64_t part = 1; part < parts; ++part) compute_part(trace, of_update);
  }
  compute_part(trace, of_update);  // buckets leave as they fill; then gradients are means
}

IterationRecord ClassifierTraining::update(std::int64_t iteration, TrainingTrace& trace) {
  const ClassifierOptions& options = task_.options();
  const auto start = Clock::now();
  data_wait_ms_ = 0;
  examples_ = 0;
  const double learning_rate = options.recipe.schedule(updates_).at(iteration);
  set_learning_rate(*optimizer_, learning_rate);
  seed_dropout(options.recipe.seed, iteration, group_.rank());
  optimizer_->zero_grad();
  compute_gradient(trace);
  const auto means = metrics_.reduce();
  stop_if_diverged(group_, means[0].second, iteration);
  const double limit = options.recipe.clip > 0 ? options.recipe.clip : std::numeric_limits<double>::infinity();
  const double norm = trace.measure("clip", [&] { return sharded_.clip_grad_norm(limit); });
  trace.measure("optimizer", [&] { sharded_.step(*optimizer_); });
  trace.add(sharded_.report());  // with the gathers of step()

  const double total_ms = milliseconds_since(start);
  IterationRecord record = record_of(group_, sharded_.report(), total_ms, options.output);
  record.iteration = iteration;
  record.loss = means[0].second;
  record.training_accuracy = means[1].second;
  record.gradient_norm = norm;
  record.learning_rate = learning_rate;
  record.data_wait_ms = data_wait_ms_;
  record.compute_ms -= data_wait_ms_;
  record.items_per_second = static_cast<double>(examples_) / total_ms * 1000;
  seconds_ += total_ms / 1000;
  return record;
}

void ClassifierTraining::judge(std::int64_t iteration, IterationRecord& record) {
  task_.before_evaluation(group_);
  const Evaluation found = evaluate(group_, task_, *model_, *evaluation_);
  record.validation_loss = found.loss;
  record.validation_accuracy = found.accuracy();
  if (best_iteration_ != 0 && found.correct <= best_.correct) {
    ++worse_;
    return;
  }
  best_ = found;
  best_iteration_ = iteration;
  worse_ = 0;
  const auto whole = sharded_.gather();
  together(group_, [&] {
    if (group_.rank() == 0) task_.save(best_folder(task_.options().output));
  });
}

ClassifierOutcome ClassifierTraining::run(TrainingTrace& trace, Journal* journal) {
  const ClassifierOptions& options = task_.options();
  bool enough = false;
  SettledLog log(group_, updates_ - done_);
  while (done_ < updates_ && !enough) {
    const std::int64_t iteration = ++done_;
    trace.begin(iteration);
    log.begin_iteration();
    IterationRecord record = update(iteration, trace);
    log.end_iteration(sharded_.report());
    const bool last = iteration == updates_;
    if (last || due(iteration, options.recipe.eval_every)) {
      trace.measure("evaluation", [&] { judge(iteration, record); });
      enough = options.recipe.patience > 0 && worse_ >= options.recipe.patience;
    }
    if (journal != nullptr) journal->add(record);
    const std::int64_t every = options.recipe.checkpoint_every;
    if (every > 0 && (last || enough || due(iteration, every))) {
      save_checkpoint(iteration);
    }
  }
  return {best_, best_iteration_, done_, log.statistics(), memory_of(sharded_, *optimizer_, group_.size()), seconds_};
}

}  // namespace lockstep::lab
