#include "lab/text/training.h"

#include "base/clock.h"
#include "lab/classifier/memory.h"
#include "lab/steps.h"
#include "lab/sync_record.h"
#include "lab/text/evaluation.h"
#include "lab/text/optimizer.h"
#include "lab/together.h"

#include <fmt/format.h>
#include <lockstep/data_parallel.h>
#include <lockstep/error.h>
#include <torch/nn/utils/clip_grad.h>
#include <torch/utils.h>

#include <cmath>
#include <limits>

namespace lockstep::lab {

namespace {

std::int64_t length(const std::vector<std::int32_t>& tokens) { return static_cast<std::int64_t>(tokens.size()); }

/// This rank's share of iteration `iteration`'s global batch.
TextBatch draw_batch(const TextTask& task, std::int64_t iteration, Slice share) {
  const TextSettings& settings = task.options.settings;
  const std::int64_t context = settings.model.context;
  const auto starts = random_starts(settings.seed, iteration, settings.batch, length(task.data.training) - context);
  return windows_at(task.data.training, {starts.begin() + share.begin, starts.begin() + share.end}, context);
}

/// The norm of all gradients together, before clipping. They are equal on all ranks, and so is it.
double clip_gradients(const Gpt& model, double largest) {
  const double limit = largest > 0 ? largest : std::numeric_limits<double>::infinity();
  return torch::nn::utils::clip_grad_norm_(model->parameters(), limit);
}

/// Over the whole validation part if `last`, else an estimate.
double validation_loss(const Group& group, Gpt& model, const TextTask& task, bool last) {
  const std::int64_t windows = last ? 0 : task.options.eval_iterations * task.options.settings.batch;
  const auto& tokens = task.data.validation;
  return mean_loss(group, model, tokens, even_starts(windows, length(tokens), model->size().context));
}

/// Rank 0 writes, and nobody goes on if it cannot.
void save(const Group& group, const TextTask& task, std::int64_t iteration, const Gpt& model,
          const torch::optim::AdamW& optimizer) {
  together(group, [&] {
    if (group.rank() != 0) return;
    save_checkpoint(checkpoint_path(task.options), iteration, task.options.settings, task.vocabulary, model, optimizer);
  });
}

Gpt make_model(const Group& group, const TextSettings& settings) {
  Gpt model = nullptr;
  together(group, [&] { model = Gpt(settings.model, settings.seed); });
  return model;
}

void resume(const Group& group, Checkpoint& checkpoint, Gpt& model, torch::optim::AdamW& optimizer) {
  together(group, [&] { checkpoint.restore(model, optimizer); });
}

}  // namespace

std::filesystem::path checkpoint_path(const TextOptions& options) { return options.output.folder() / "checkpoint.pt"; }

TextOutcome train_text(const Group& group, TextTask& task, TrainingTrace& trace, Journal* journal) {
  const TextOptions& options = task.options;
  const TextSettings& settings = options.settings;
  const LearningRate schedule = settings.schedule();
  const Slice share = slice_of(settings.batch, group.rank(), group.size());
  const auto tokens = static_cast<double>(settings.batch * settings.model.context);
  const std::int64_t done = task.checkpoint ? task.checkpoint->iteration() : 0;

  Gpt model = make_model(group, settings);
  auto optimizer = make_optimizer(*model, settings.weight_decay);
  if (task.checkpoint) resume(group, *task.checkpoint, model, optimizer);
  DataParallelOptions parallel;
  parallel.first_bucket_bytes = options.first_bucket_bytes;
  parallel.bucket_bytes = options.bucket_bytes;
  parallel.overlap = options.overlap;
  parallel.algorithm = options.algorithm;
  DataParallel replica(group, *model, parallel);  // the same weights on every rank from here on
  replica.samples(share.size());                  // and the same share in every iteration

  TextOutcome outcome{model};
  SettledLog log(group, settings.iterations - done);
  for (std::int64_t iteration = done + 1; iteration <= settings.iterations; ++iteration) {
    const bool last = iteration == settings.iterations;
    const auto start = Clock::now();
    trace.begin(iteration);
    log.begin_iteration();
    const TextBatch batch = trace.measure("data", [&] { return draw_batch(task, iteration, share); });
    const double data_wait_ms = milliseconds_since(start);
    const double learning_rate = schedule.at(iteration);
    set_learning_rate(optimizer, learning_rate);
    if (settings.model.dropout > 0) seed_dropout(settings.seed, iteration, group.rank());
    optimizer.zero_grad();
    const auto loss = trace.measure("forward", [&] { return model->loss(batch.tokens, batch.targets); });
    trace.measure("backward", [&] { loss.backward(); });  // buckets leave as they fill; on return .grad is the mean
    const double mean = mean_over_ranks(group, loss, share.size(), settings.batch);
    stop_if_diverged(group, mean, iteration);
    const double norm = trace.measure("clip", [&] { return clip_gradients(model, settings.clip); });
    trace.measure("optimizer", [&] { optimizer.step(); });
    trace.add(replica.report());

    log.end_iteration(replica.report());
    const double total_ms = milliseconds_since(start);
    outcome.seconds += total_ms / 1000;
    IterationRecord record = record_of(group, replica.report(), total_ms, options.output);
    record.data_wait_ms = data_wait_ms;
    record.compute_ms -= data_wait_ms;
    record.items_per_second = tokens / total_ms * 1000;
    record.iteration = iteration;
    record.loss = mean;
    record.gradient_norm = norm;
    record.learning_rate = learning_rate;
    if (last || due(iteration, options.eval_every)) {
      record.validation_loss = trace.measure("evaluation", [&] { return validation_loss(group, model, task, last); });
    }
    if (journal != nullptr) journal->add(record);
    if (last || due(iteration, options.checkpoint_every)) save(group, task, iteration, model, optimizer);
    outcome.validation_loss = record.validation_loss.value_or(0);
  }
  outcome.statistics = log.statistics();
  outcome.memory = memory_of(*model, optimizer);
  return outcome;
}

}  // namespace lockstep::lab
