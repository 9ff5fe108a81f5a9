#pragma once

#include <lockstep/optim.h>
#include <CLI/CLI.hpp>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::lab {

/// What decides, beside the model, which classifier comes out, and what a run that goes on keeps to.
struct Recipe {
  std::int64_t batch = 32;      ///< examples of an update, on all ranks together
  std::int64_t accumulate = 1;  ///< parts that such a batch is computed in, one after another
  double epochs = 3;
  std::int64_t iterations = 0;  ///< updates; 0: as `epochs` says
  double learning_rate = 5e-5;
  double warmup = 0.1;         ///< share of the iterations in which the learning rate rises
  double weight_decay = 0.01;  ///< of matrices, not of biases and norms
  double clip = 1.0;           ///< of the global gradient norm; 0: none
  std::uint64_t seed = 1337;
  bool bf16 = false;
  std::int64_t patience = 0;          ///< evaluations without a better accuracy after which the training ends; 0: never
  std::int64_t eval_every = 0;        ///< iterations between evaluations; 0: at the end only
  std::int64_t checkpoint_every = 0;  ///< between checkpoints that a run can go on from; 0: none
  int stage = 0;                      ///< as ShardedOptions'

  /// Updates in all, if an epoch has so many examples.
  std::int64_t updates(std::int64_t examples) const;
  /// A linear warm-up, then a linear decay to zero.
  LearningRate schedule(std::int64_t updates) const;
};

// As a run's settings.json has it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(Recipe, batch, accumulate, epochs, iterations, learning_rate, warmup,
                                                weight_decay, clip, seed, bf16, patience, eval_every, checkpoint_every,
                                                stage)

/// Adds the flags of a recipe; what stands in it already are their defaults.
void add_recipe_flags(CLI::App& app, Recipe& recipe);

/// Throws Error (kInvalidArgument) with what cannot be and what could.
void validate(const Recipe& recipe);

}  // namespace lockstep::lab
