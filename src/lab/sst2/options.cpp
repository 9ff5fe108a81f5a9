#include "lab/sst2/options.h"

#include "lab/require.h"
#include "lab/settings_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

constexpr const char* kDefaultPreset = "full";

std::string preset_names() {
  std::vector<std::string> names;
  for (const Sst2Preset& preset : sst2_presets()) names.emplace_back(preset.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// In the help: a default that depends on what the model begins with.
template <class Number>
void describe_default(CLI::App& app, const char* flag, Number Recipe::*value) {
  std::vector<std::string> by_preset;
  for (const Sst2Preset& preset : sst2_presets()) {
    by_preset.push_back(fmt::format("{} {}", preset.name, preset.recipe.*value));
  }
  CLI::Option* const option = app.get_option(flag);
  option->default_str("")->description(fmt::format("{} [{} with --weights; of the presets {}]",
                                                   option->get_description(), Recipe().*value,
                                                   fmt::join(by_preset, ", ")));
}

void parse(const std::vector<std::string>& arguments, Sst2Options& options) {
  CLI::App app;
  add_sst2_flags(app, options);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  options.settings.recipe = options.common.recipe;
}

/// What is not asked for, as far as it depends on what is.
Sst2Options defaults_for(const Sst2Options& asked) {
  Sst2Options options;
  if (!asked.common.resume.empty()) {
    options.settings = settings_of_run<Sst2Settings>(asked.common.resume, "sst2");
    options.common.recipe = options.settings.recipe;
    options.common.output.out = asked.common.resume;
    return options;
  }
  if (!asked.settings.weights.empty()) return options;  // a recipe's own defaults are those of fine-tuning
  options.settings.preset = asked.settings.preset.empty() ? kDefaultPreset : asked.settings.preset;
  options.common.recipe = sst2_preset(options.settings.preset).recipe;
  return options;
}

void validate(const Sst2Options& options) {
  const Sst2Settings& settings = options.settings;
  require(
      !settings.data.empty(),
      "--data is needed: the folder of GLUE's SST-2 with train.tsv and dev.tsv (docs/labs.md says where to get it).");
  require(settings.preset.empty() || settings.weights.empty(),
          fmt::format("--weights brings its own size of model: leave out --preset {0}, or --weights if --preset {0} is "
                      "that of the run to --resume.",
                      settings.preset));
  if (settings.weights.empty()) sst2_preset(settings.preset);
  require_at_least(3, settings.max_tokens, "--max-tokens");
  validate(options.common);
}

}  // namespace

const std::vector<Sst2Preset>& sst2_presets() {
  static const std::vector<Sst2Preset> presets = {
      {"full", "distilbert-base-uncased: 6 layers, 768 wide", {}, {.learning_rate = 1e-4}},
      {"small",
       "2 layers, 128 wide; minutes on two cores",
       {.positions = 128, .width = 128, .layers = 2, .heads = 4, .feed_forward = 512},
       {.batch = 64, .epochs = 3, .learning_rate = 1e-3}},
      {"tiny",
       "1 layer, 32 wide; for trying things",
       {.positions = 128, .width = 32, .layers = 1, .heads = 2, .feed_forward = 64},
       {.batch = 64, .epochs = 1, .learning_rate = 3e-3}},
  };
  return presets;
}

const Sst2Preset& sst2_preset(const std::string& name) {
  const auto& all = sst2_presets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Sst2Preset& one) { return one.name == name; });
  require(found != all.end(), fmt::format("There is no --preset {}; there are {}.", name, preset_names()));
  return *found;
}

void add_sst2_flags(CLI::App& app, Sst2Options& options) {
  app.option_defaults()->take_last();  // a flag given again overrides
  Sst2Settings& settings = options.settings;
  app.add_option("--data", settings.data, "Folder of GLUE's SST-2: train.tsv and dev.tsv");
  app.add_option("--weights", settings.weights,
                 "Folder of a DistilBERT or BERT of Hugging Face's to start from: config.json, model.safetensors");
  app.add_option("--vocabulary", settings.vocabulary,
                 "vocab.txt or tokenizer.json [looked for in the folders of weights and data]");
  app.add_option("--preset", settings.preset,
                 fmt::format("Size of a model with random weights: {} [{}]", preset_names(), kDefaultPreset));
  app.add_option("--max-tokens", settings.max_tokens, "Tokens of a sentence; longer ones are cut")
      ->capture_default_str();
  add_classifier_flags(app, options.common);
  describe_default(app, "--batch", &Recipe::batch);
  describe_default(app, "--epochs", &Recipe::epochs);
  describe_default(app, "--learning-rate", &Recipe::learning_rate);
}

Sst2Options parse_sst2(const std::vector<std::string>& arguments) {
  Sst2Options asked;
  parse(arguments, asked);
  Sst2Options options = defaults_for(asked);
  parse(arguments, options);
  validate(options);
  return options;
}

}  // namespace lockstep::lab
