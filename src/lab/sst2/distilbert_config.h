#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// The size of a DistilBERT that classifies sentences; by default that of distilbert-base-uncased.
struct DistilBertConfig {
  std::int64_t vocabulary = 30522;
  std::int64_t positions = 512;  ///< tokens of the longest sentence, [CLS] and [SEP] included
  std::int64_t width = 768;
  std::int64_t layers = 6;
  std::int64_t heads = 12;  ///< must divide width
  std::int64_t feed_forward = 3072;
  double dropout = 0.1;
  double attention_dropout = 0.1;
  double classifier_dropout = 0.2;
  double initial_deviation = 0.02;  ///< of weights that are drawn
  std::int64_t padding = 0;         ///< the token whose embedding is zero
  std::int64_t labels = 2;
  double norm_epsilon = 1e-12;           ///< of layer normalisation
  std::vector<std::string> label_names;  ///< of each class; empty: LABEL_0, LABEL_1, ...
};

/// Number of trained values of a model of this size.
std::int64_t parameter_count(const DistilBertConfig& config);

/// Reads Hugging Face's `config.json` of a DistilBERT, or of a BERT that has the same parts. Throws Error
/// (kInvalidArgument) with the file and what is wrong: another architecture, activation or kind of positions, sizes
/// that are missing or cannot be.
DistilBertConfig read_config(const std::filesystem::path& file);

/// Writes a `config.json` that read_config and Hugging Face's library read; the latter has 1e-12 for `norm_epsilon` in
/// every DistilBERT. Throws Error (kIo).
void write_config(const DistilBertConfig& config, const std::filesystem::path& file);

}  // namespace lockstep::lab
