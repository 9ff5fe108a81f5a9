#pragma once

#include "lab/classifier/task.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::lab {

/// What decides which classifier of handwritten digits comes out.
struct DigitsSettings {
  std::string data;                    ///< folder of MNIST's four files
  std::string partition = "shuffled";  ///< one of partition_names()
  std::string norm = "sync";           ///< one of norm_names()
  bool norm_linear = false;            ///< behind the first linear layer too
  std::string scaling = "none";        ///< one of scaling_names()
  std::int64_t base_batch = 64;        ///< for which the learning rate is good
  Recipe recipe{
      .batch = 64, .epochs = 4, .learning_rate = 0.05, .warmup = 0.1, .weight_decay = 5e-4, .clip = 0, .seed = 1337};

  /// As the recipe has it, scaled to its batch.
  double learning_rate() const;
};

// As a run's settings.json has it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DigitsSettings, data, partition, norm, norm_linear, scaling, base_batch, recipe)

/// Which digits a rank learns from. shuffled: a part of each batch of all of them; by-label: a share of its own, see
/// Images::share_by_label.
const std::vector<std::string>& partition_names();
/// batch: batch normalisation over a rank's own samples; sync: over those of all ranks; group: group normalisation,
/// over a sample's own channels.
const std::vector<std::string>& norm_names();
/// How the learning rate follows the batch: linear (Goyal et al. 2017), square-root (Krizhevsky 2014), none.
const std::vector<std::string>& scaling_names();

/// What `lockstep-train digits` is asked for.
struct DigitsOptions {
  DigitsSettings settings;
  /// Its recipe has the scaled learning rate.
  ClassifierOptions common{.recipe = DigitsSettings().recipe, .output = {.out = "runs/digits"}};
};

/// Adds the flags of `lockstep-train digits`, which fill `options`; what stands in it already are their defaults.
void add_digits_flags(CLI::App& app, DigitsOptions& options);

/// The options that `arguments` ask for: what they leave open is as the run to go on with had it. Throws Error
/// (kInvalidArgument) with what cannot be and what could, CLI::ParseError.
DigitsOptions parse_digits(const std::vector<std::string>& arguments);

}  // namespace lockstep::lab
