#pragma once

#include "lab/text/gpt.h"
#include "lab/text/options.h"
#include "lab/text/vocabulary.h"

#include <torch/optim/adamw.h>
#include <torch/serialize/input-archive.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace lockstep::lab {

/// Writes a training down in one file, atomically: settings, vocabulary and the number of finished iterations as JSON,
/// the model and the optimizer's state as torch's archives, which torch::load reads too. The file is made in memory
/// first. Throws Error (kIo).
void save_checkpoint(const std::filesystem::path& path, std::int64_t iteration, const TextSettings& settings,
                     const Vocabulary& vocabulary, const Gpt& model, const torch::optim::AdamW& optimizer);

/// A training as save_checkpoint wrote it.
class Checkpoint {
 public:
  /// Throws Error (kInvalidArgument) if the file is not there, is not a checkpoint of a text training, or is damaged.
  explicit Checkpoint(const std::filesystem::path& path);

  std::int64_t iteration() const { return iteration_; }
  const TextSettings& settings() const { return settings_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }

  /// Puts the state into a model of the same size and its optimizer. Throws Error (kInvalidArgument) if they do not
  /// fit.
  void restore(Gpt& model, torch::optim::AdamW& optimizer);

 private:
  std::string_view without_trailer(std::string_view content) const;
  void read(std::string_view archive);

  std::filesystem::path path_;
  torch::serialize::InputArchive archive_;
  std::int64_t iteration_ = 0;
  TextSettings settings_;
  std::optional<Vocabulary> vocabulary_;
};

}  // namespace lockstep::lab
