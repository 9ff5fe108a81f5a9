#pragma once

#include "lab/classifier/task.h"
#include "lab/sst2/distilbert_config.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace lockstep::lab {

/// What decides which classifier of film reviews comes out.
struct Sst2Settings {
  std::string data;               ///< folder of train.tsv and dev.tsv
  std::string weights;            ///< folder of a model of Hugging Face's to start from; empty: random weights
  std::string vocabulary;         ///< file; empty: looked for, see find_vocabulary
  std::string preset;             ///< size of a model with random weights; empty with weights
  std::int64_t max_tokens = 128;  ///< of a sentence, [CLS] and [SEP] included; longer ones are cut
  Recipe recipe;
};

// As a run's settings.json has it.
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Sst2Settings, data, weights, vocabulary, preset, max_tokens, recipe)

/// What `lockstep-train sst2` is asked for.
struct Sst2Options {
  Sst2Settings settings;  ///< its recipe is that of `common`
  ClassifierOptions common{.output = {.out = "runs/sst2"}};
};

/// Adds the flags of `lockstep-train sst2`, which fill `options`; what stands in it already are their defaults.
void add_sst2_flags(CLI::App& app, Sst2Options& options);

/// A size of model, by name, and the recipe that suits it.
struct Sst2Preset {
  const char* name;
  const char* description;
  DistilBertConfig config;
  Recipe recipe;
};
const std::vector<Sst2Preset>& sst2_presets();
/// Throws Error (kInvalidArgument) with the names that there are.
const Sst2Preset& sst2_preset(const std::string& name);

/// The options that `arguments` ask for: what they leave open is as the run to go on with had it, or as suits the
/// preset, or the weights. Throws Error (kInvalidArgument) with what cannot be and what could, CLI::ParseError.
Sst2Options parse_sst2(const std::vector<std::string>& arguments);

}  // namespace lockstep::lab
