#include "lab/training.h"

#include "base/clock.h"
#include "lab/counter_random.h"
#include "lab/evaluation.h"
#include "lab/optimizer.h"
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

bool due(std::int64_t iteration, std::int64_t every) { return every > 0 && iteration % every == 0; }

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

/// The mean loss over the global batch, of which this rank's part holds `samples`.
double mean_over_ranks(const Group& group, const torch::Tensor& loss, std::int64_t samples, std::int64_t batch) {
  double sum = samples == 0 ? 0 : loss.item<double>() * static_cast<double>(samples);
  group.all_reduce(buffer_of(&sum, 1), ReduceOp::kSum, {.purpose = "training loss"}).wait();
  return sum / static_cast<double>(batch);
}

void stop_if_diverged(const Group& group, double loss, std::int64_t iteration) {
  if (std::isfinite(loss)) return;  // the same on every rank
  together(group, [&] {
    throw Error(
        ErrorCode::kUnsupported,
        fmt::format("The loss of iteration {} is not a finite number, so the training was stopped: try a smaller "
                    "--learning-rate or a smaller --clip.",
                    iteration));
  });
}

std::vector<BucketRecord> bucket_records(const SyncReport& report) {
  std::vector<BucketRecord> records;
  for (const BucketTiming& bucket : report.buckets) {
    const double milliseconds = static_cast<double>(bucket.completed_us - bucket.launched_us) / 1000;
    records.push_back({bucket.index, bucket.parameters, bucket.bytes, bucket.algorithm, milliseconds, bucket.hidden});
  }
  return records;
}

/// What the iteration took; what it came to is filled in by the loop.
IterationRecord record_of(const Group& group, const SyncReport& report, double total_ms, const TextOptions& options) {
  IterationRecord record;
  const auto tokens = static_cast<double>(options.settings.batch * options.settings.model.context);
  record.tokens_per_second = tokens / total_ms * 1000;
  record.exposed_ms = report.exposed_ms;
  record.compute_ms = total_ms - report.exposed_ms;
  const bool sent = group.size() > 1 && !report.buckets.empty();
  record.bytes = sent ? report.bytes : 0;
  if (sent) record.algorithm = report.buckets.front().algorithm;
  if (options.log_sync) record.buckets = bucket_records(report);
  return record;
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

/// Dropout is random too: it depends on the iteration and the rank, so that a resumed run drops the same.
void seed_dropout(const TextSettings& settings, std::int64_t iteration, int rank) {
  if (settings.model.dropout == 0) return;
  torch::manual_seed(CounterRandom(settings.seed, static_cast<std::uint64_t>(iteration)).bits(~std::uint64_t(rank)));
}

/// What is wrong with a name, or too large a model, is said once, before the first iteration.
void check_algorithm(const Group& group, const std::string& algorithm) {
  together(group, [&] {
    double nothing = 0;
    group.all_reduce(buffer_of(&nothing, 1), ReduceOp::kSum, {.algorithm = algorithm}).wait();
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

std::filesystem::path checkpoint_path(const TextOptions& options) {
  return std::filesystem::path(options.out) / "checkpoint.pt";
}

TextOutcome train_text(const Group& group, TextTask& task, TrainingTrace& trace, Journal* journal) {
  const TextOptions& options = task.options;
  const TextSettings& settings = options.settings;
  const LearningRate schedule = settings.schedule();
  const Slice share = slice_of(settings.batch, group.rank(), group.size());
  const std::int64_t done = task.checkpoint ? task.checkpoint->iteration() : 0;

  check_algorithm(group, options.algorithm);
  Gpt model = make_model(group, settings);
  auto optimizer = make_optimizer(*model, settings.weight_decay);
  if (task.checkpoint) resume(group, *task.checkpoint, model, optimizer);
  DataParallelOptions parallel;
  parallel.overlap = options.overlap;
  parallel.algorithm = options.algorithm;
  DataParallel replica(group, *model, parallel);  // the same weights on every rank from here on
  replica.samples(share.size());                  // and the same share in every iteration

  TextOutcome outcome{model};
  for (std::int64_t iteration = done + 1; iteration <= settings.iterations; ++iteration) {
    const bool last = iteration == settings.iterations;
    const auto start = Clock::now();
    trace.begin(iteration);
    const TextBatch batch = trace.measure("data", [&] { return draw_batch(task, iteration, share); });
    const double learning_rate = schedule.at(iteration);
    set_learning_rate(optimizer, learning_rate);
    seed_dropout(settings, iteration, group.rank());
    optimizer.zero_grad();
    const auto loss = trace.measure("forward", [&] { return model->loss(batch.tokens, batch.targets); });
    trace.measure("backward", [&] { loss.backward(); });  // buckets leave as they fill; on return .grad is the mean
    trace.add(replica.report());
    const double mean = mean_over_ranks(group, loss.detach(), share.size(), settings.batch);
    stop_if_diverged(group, mean, iteration);
    const double norm = trace.measure("clip", [&] { return clip_gradients(model, settings.clip); });
    trace.measure("optimizer", [&] { optimizer.step(); });

    const double total_ms = milliseconds_since(start);
    outcome.seconds += total_ms / 1000;
    IterationRecord record = record_of(group, replica.report(), total_ms, options);
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
  return outcome;
}

}  // namespace lockstep::lab
