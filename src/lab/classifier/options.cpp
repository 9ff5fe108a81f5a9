#include "lab/bucket_flag.h"
#include "lab/classifier/task.h"
#include "lab/require.h"

namespace lockstep::lab {

void add_classifier_flags(CLI::App& app, ClassifierOptions& options) {
  app.add_option("--resume", options.resume,
                 "Go on with the run in this folder (its --out), with its settings where no flag says otherwise");
  add_recipe_flags(app, options.recipe);
  const auto parallel = app.add_option_group("Parallel");
  parallel
      ->add_option("--stage", options.recipe.stage,
                   "What is cut into a piece a rank: 0 nothing, 1 optimizer state, 2 gradients too, 3 parameters too")
      ->capture_default_str();
  parallel->add_option("--algorithm", options.sharding.algorithm, "Collective algorithm of the gradients")
      ->capture_default_str();
  add_bucket_flag(*parallel, options.sharding.first_bucket_bytes, options.sharding.bucket_bytes);
  parallel->add_flag_callback(
      "--no-overlap", [&options] { options.sharding.overlap = false; },
      "Start to reduce gradients when backward is done");
  const auto output = app.add_option_group("Output");
  add_output_flags(*output, options.output);
  output->add_option("--eval-every", options.recipe.eval_every, "Iterations between evaluations; 0: only at the end")
      ->capture_default_str();
  output->add_option("--checkpoint-every", options.recipe.checkpoint_every,
                     "Iterations between checkpoints that --resume can go on from [none]");
}

void validate(const ClassifierOptions& options) {
  validate(options.recipe);
  validate(options.output);
}

}  // namespace lockstep::lab
