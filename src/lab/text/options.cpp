#include "lab/text/options.h"

#include "lab/bucket_flag.h"
#include "lab/require.h"
#include "lab/text/data.h"
#include "lab/text/settings_json.h"
#include "lab/text/vocabulary.h"

#include <fmt/format.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

void add_model_flags(CLI::App& app, TextSettings& settings) {
  const auto group = app.add_option_group("Model");
  group->add_option("--tokens", settings.tokens, "What a token is: chars (code points of the text) or bytes")
      ->capture_default_str();
  group->add_option("--layers", settings.model.layers, "Number of layers")->capture_default_str();
  group->add_option("--heads", settings.model.heads, "Attention heads; must divide the width")->capture_default_str();
  group->add_option("--width", settings.model.width, "Width of the residual stream")->capture_default_str();
  group->add_option("--context", settings.model.context, "Tokens that the model looks back on")->capture_default_str();
  group->add_option("--dropout", settings.model.dropout, "Share of activations dropped in training")
      ->capture_default_str();
}

void add_training_flags(CLI::App& app, TextSettings& settings) {
  const auto group = app.add_option_group("Training");
  group->add_option("--batch", settings.batch, "Windows an iteration, on all ranks together")->capture_default_str();
  group->add_option("--iterations", settings.iterations, "Optimizer updates in all, resumed ones included")
      ->capture_default_str();
  group->add_option("--learning-rate", settings.learning_rate, "Its peak, after the warm-up")->capture_default_str();
  group->add_option("--min-learning-rate", settings.min_learning_rate, "Where its decay ends [a tenth of the peak]");
  group->add_option("--warmup", settings.warmup, "Iterations of linear warm-up [a tenth of the decay, at most 100]");
  group->add_option("--decay-iterations", settings.decay_iterations,
                    "Iteration at which the cosine decay ends [the last]");
  group->add_option("--weight-decay", settings.weight_decay, "Of matrices; AdamW's")->capture_default_str();
  group->add_option("--clip", settings.clip, "Largest global gradient norm; 0 for none")->capture_default_str();
  group->add_option("--seed", settings.seed, "Of initial weights, batches and samples")->capture_default_str();
}

void add_report_flags(CLI::App& app, TextOptions& options) {
  const auto group = app.add_option_group("Output");
  add_output_flags(*group, options.output);
  group->add_option("--checkpoint-every", options.checkpoint_every, "Iterations between checkpoints [only at the end]");
  group->add_option("--eval-every", options.eval_every, "Iterations between validation losses; 0: only at the end")
      ->capture_default_str();
  group
      ->add_option("--eval-iterations", options.eval_iterations,
                   "Batches of such a validation loss; 0: the whole validation part, as at the end")
      ->capture_default_str();
  group->add_option("--sample-length", options.sample_length, "Tokens to generate at the end; 0 for none")
      ->capture_default_str();
  group->add_option("--temperature", options.temperature, "Of that sample; 0: always the likeliest token")
      ->capture_default_str();
  group->add_option("--prompt", options.prompt, "What the sample continues [a newline]");
}

}  // namespace

LearningRate TextSettings::schedule() const {
  const std::int64_t decay = decay_iterations > 0 ? decay_iterations : iterations;
  const std::int64_t warm = warmup >= 0 ? warmup : std::min<std::int64_t>(100, decay / 10);
  const double minimum = min_learning_rate == -1 ? learning_rate / 10 : min_learning_rate;
  return {
      .peak = learning_rate, .minimum = minimum, .warmup = warm, .decay = Decay::kCosine, .end = std::max(decay, warm)};
}

void add_text_flags(CLI::App& app, TextOptions& options) {
  app.option_defaults()->take_last();  // a flag given again overrides
  app.add_option("--data", options.settings.data,
                 fmt::format("Text files, or folders of them, joined in this order [{}]", kDefaultText))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--resume", options.resume,
                 "Go on from this checkpoint, with its settings where no flag says otherwise");
  add_model_flags(app, options.settings);
  add_training_flags(app, options.settings);
  add_report_flags(app, options);
  app.add_option("--algorithm", options.algorithm, "Collective algorithm of the gradients")->capture_default_str();
  add_bucket_flag(app, options.first_bucket_bytes, options.bucket_bytes);
  app.add_flag_callback(
      "--no-overlap", [&options] { options.overlap = false; }, "Start to reduce gradients when backward is done");
}

void validate(const TextOptions& options) {
  const TextSettings& settings = options.settings;
  const GptSize& model = settings.model;
  parse_token_kind(settings.tokens);
  require_size(model.layers, "--layers");
  require_size(model.heads, "--heads");
  require_size(model.width, "--width");
  require_size(model.context, "--context");
  require(
      model.width % model.heads == 0,
      fmt::format("--heads {} does not divide --width {}: each head takes an equal part of the width; try --width {}.",
                  model.heads, model.width, (model.width / model.heads + 1) * model.heads));
  require_number(model.dropout >= 0 && model.dropout < 1, model.dropout, "--dropout", "at least 0 and below 1");
  require_size(settings.batch, "--batch");
  require_at_least(1, settings.iterations, "--iterations");
  require_number(settings.learning_rate > 0, settings.learning_rate, "--learning-rate", "above 0");
  const double minimum = settings.schedule().minimum;
  require_number(minimum >= 0 && minimum <= settings.learning_rate, minimum, "--min-learning-rate",
                 "between 0 and --learning-rate");
  require_at_least(-1, settings.warmup, "--warmup");
  require_at_least(0, settings.decay_iterations, "--decay-iterations");
  require_number(settings.weight_decay >= 0, settings.weight_decay, "--weight-decay", "at least 0");
  require_number(settings.clip >= 0, settings.clip, "--clip", "at least 0");
  require_at_least(0, options.checkpoint_every, "--checkpoint-every");
  require_at_least(0, options.eval_every, "--eval-every");
  require_at_least(0, options.eval_iterations, "--eval-iterations");
  require_at_least(0, options.sample_length, "--sample-length");
  require_number(options.temperature >= 0, options.temperature, "--temperature", "at least 0");
  validate(options.output);
}

}  // namespace lockstep::lab
