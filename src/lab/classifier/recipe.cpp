#include "lab/classifier/recipe.h"

#include "lab/require.h"

#include <algorithm>

namespace lockstep::lab {

std::int64_t Recipe::updates(std::int64_t examples) const {
  if (iterations > 0) return iterations;
  const double all = std::ceil(epochs * static_cast<double>(examples) / static_cast<double>(batch));
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(all));
}

LearningRate Recipe::schedule(std::int64_t updates) const {
  return {.peak = learning_rate,
          .warmup = static_cast<std::int64_t>(warmup * static_cast<double>(updates)),
          .decay = Decay::kPolynomial,
          .end = updates};
}

void add_recipe_flags(CLI::App& app, Recipe& recipe) {
  const auto group = app.add_option_group("Training");
  group->add_option("--batch", recipe.batch, "Examples of an update, on all ranks together")->capture_default_str();
  group->add_option("--accumulate", recipe.accumulate, "Parts that a batch is computed in, one after another")
      ->capture_default_str();
  group->add_option("--epochs", recipe.epochs, "How often each example is seen")->capture_default_str();
  group->add_option("--iterations", recipe.iterations, "Updates in all [as --epochs says]");
  group->add_option("--learning-rate", recipe.learning_rate, "Its peak, after the warm-up")->capture_default_str();
  group->add_option("--warmup", recipe.warmup, "Share of the iterations in which the learning rate rises")
      ->capture_default_str();
  group->add_option("--weight-decay", recipe.weight_decay, "Of matrices, not of biases and norms")
      ->capture_default_str();
  group->add_option("--clip", recipe.clip, "Largest global gradient norm; 0 for none")->capture_default_str();
  group->add_option("--patience", recipe.patience, "Stop after so many evaluations without a better accuracy; 0: never")
      ->capture_default_str();
  group->add_option("--seed", recipe.seed, "Of initial weights, order of examples and dropout")->capture_default_str();
  group->add_flag("--bf16", recipe.bf16, "Compute matrix products in bfloat16; weights stay float32");
}

void validate(const Recipe& recipe) {
  require_size(recipe.batch, "--batch");
  require_size(recipe.accumulate, "--accumulate");
  require(recipe.batch % recipe.accumulate == 0,
          fmt::format("--accumulate {} does not divide --batch {}.", recipe.accumulate, recipe.batch));
  require_number(recipe.epochs > 0 && recipe.epochs <= 1e6, recipe.epochs, "--epochs", "above 0 and at most 1000000");
  require_at_least(0, recipe.iterations, "--iterations");
  require_number(recipe.learning_rate > 0, recipe.learning_rate, "--learning-rate", "above 0");
  require_number(recipe.warmup >= 0 && recipe.warmup < 1, recipe.warmup, "--warmup", "at least 0 and below 1");
  require_number(recipe.weight_decay >= 0, recipe.weight_decay, "--weight-decay", "at least 0");
  require_number(recipe.clip >= 0, recipe.clip, "--clip", "at least 0");
  require_at_least(0, recipe.patience, "--patience");
  require_at_least(0, recipe.eval_every, "--eval-every");
  require_at_least(0, recipe.checkpoint_every, "--checkpoint-every");
  require(recipe.patience == 0 || recipe.eval_every > 0,
          "--patience counts evaluations, of which there is only the last one without --eval-every.");
  require(recipe.stage >= 0 && recipe.stage <= 3, fmt::format("--stage must be 0, 1, 2 or 3, not {}.", recipe.stage));
}

}  // namespace lockstep::lab
