#pragma once

#include "lab/sst2/distilbert.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// What a file of weights did not decide.
struct WeightsReport {
  std::vector<std::string> drawn;   ///< parameters that it does not hold and that stay as they were: the classifier's
  std::vector<std::string> unused;  ///< its tensors of other heads, as for predicting words
};

/// Fills a model from `model.safetensors` of Hugging Face, in F32, F16 or BF16, by name: a DistilBERT with or without a
/// classifier, or the encoder of a BERT, whose embedding of the first sentence's type is added to all positions. Throws
/// Error (kInvalidArgument) with the file and the first tensor that is missing, of another shape or of no known part,
/// or what is missing where it has some of the classifier's four; then the model is as it was.
WeightsReport load_weights(DistilBertImpl& model, const std::filesystem::path& file);

/// Writes a file that load_weights and Hugging Face's DistilBertForSequenceClassification read. Throws Error (kIo).
void save_weights(const DistilBertImpl& model, const std::filesystem::path& file);

}  // namespace lockstep::lab
