#pragma once

#include "lab/classifier/recipe.h"
#include "lab/output_options.h"
#include "report/record.h"

#include <lockstep/group.h>
#include <lockstep/loader.h>
#include <lockstep/sharded.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>
#include <torch/types.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

namespace lockstep::lab {

/// What a training of a classifier is asked for, whatever it classifies.
struct ClassifierOptions {
  Recipe recipe;
  OutputOptions output;
  ShardedOptions sharding;  ///< but for the stage, which is the recipe's
  std::string resume;       ///< the folder (--out) of a run to go on with; empty: begin anew
};

/// Adds all of their flags.
void add_classifier_flags(CLI::App& app, ClassifierOptions& options);
/// Throws Error (kInvalidArgument) with what cannot be and what could.
void validate(const ClassifierOptions& options);

/// A classifier to be trained: model, data and how it is kept, made from the input that was asked for. Each rank has
/// its own.
class ClassifierTask {
 public:
  virtual ~ClassifierTask() = default;

  virtual const ClassifierOptions& options() const = 0;
  /// What a run that goes on with this one has to know.
  virtual nlohmann::json settings() const = 0;
  /// Title, and what examples are; the rest is filled in by who trains it.
  virtual RunRecord describe() const = 0;
  /// What was read, in words.
  virtual std::string announcement() const = 0;
  /// What there is to say of the weights that were loaded, in a line; empty: nothing.
  virtual std::string remark() const { return {}; }
  virtual std::int64_t examples() const = 0;

  /// The model, with its blocks in `sharded` but not attached, with its first weights drawn from torch's generator.
  /// Once, before what follows. Collective.
  virtual std::shared_ptr<torch::nn::Module> make_model(const Group& group, Sharded& sharded) = 0;
  /// What happens to weights once, while they are whole: those of a file replace what was drawn. Throws Error
  /// (kInvalidArgument). On every rank.
  virtual void load_weights() {}
  virtual std::unique_ptr<torch::optim::Optimizer> make_optimizer(const Sharded& sharded) = 0;
  /// {samples, classes}.
  virtual torch::Tensor logits(const Batch& batch) = 0;

  /// Examples to learn from, shuffled, `batch` of them on all ranks together: of the group, or of one rank where each
  /// has examples of its own, as many as the others. Collective.
  virtual std::unique_ptr<Loader> training_loader(const Group& group, std::int64_t batch) = 0;
  /// Examples to judge by, each once. Collective.
  virtual std::unique_ptr<Loader> evaluation_loader(const Group& group) = 0;

  /// What makes the ranks' models the same where training did not. Collective.
  virtual void before_evaluation(const Group& /*group*/) {}
  /// Writes the model, while its weights are whole, for others to read. Throws Error (kIo). On rank 0 only.
  virtual void save(const std::filesystem::path& folder) const = 0;
};

}  // namespace lockstep::lab
