#include "lab/digits/options.h"

#include "base/nearest.h"
#include "lab/require.h"
#include "lab/settings_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/optim.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

void parse(const std::vector<std::string>& arguments, DigitsOptions& options) {
  options.common.recipe = options.settings.recipe;
  CLI::App app;
  add_digits_flags(app, options);
  app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
  options.settings.recipe = options.common.recipe;
}

void require_one_of(const std::vector<std::string>& names, const std::string& name, std::string_view flag) {
  if (std::find(names.begin(), names.end(), name) != names.end()) return;
  const std::string near = nearest(name, {names.begin(), names.end()});
  refuse(fmt::format("{} is one of {}, not {}.{}", flag, fmt::join(names, ", "), name,
                     near.empty() ? "" : fmt::format(" Did you mean '{}'?", near)));
}

void validate(const DigitsOptions& options) {
  const DigitsSettings& settings = options.settings;
  require(
      !settings.data.empty(),
      "--data is needed: the folder of MNIST's four idx files, gzipped or not (docs/labs.md says where to get it).");
  require_one_of(partition_names(), settings.partition, "--partition");
  require_one_of(norm_names(), settings.norm, "--norm");
  require_one_of(scaling_names(), settings.scaling, "--scaling");
  require_size(settings.base_batch, "--base-batch");
  validate(options.common);
}

}  // namespace

const std::vector<std::string>& partition_names() {
  static const std::vector<std::string> names = {"shuffled", "by-label"};
  return names;
}

const std::vector<std::string>& norm_names() {
  static const std::vector<std::string> names = {"batch", "sync", "group"};
  return names;
}

const std::vector<std::string>& scaling_names() {
  static const std::vector<std::string> names = {"none", "linear", "square-root"};
  return names;
}

double DigitsSettings::learning_rate() const {
  if (scaling == "linear") return scaled_linearly(recipe.learning_rate, base_batch, recipe.batch);
  if (scaling == "square-root") return scaled_by_square_root(recipe.learning_rate, base_batch, recipe.batch);
  return recipe.learning_rate;
}

void add_digits_flags(CLI::App& app, DigitsOptions& options) {
  app.option_defaults()->take_last();  // a flag given again overrides
  DigitsSettings& settings = options.settings;
  app.add_option("--data", settings.data,
                 "Folder of MNIST: train- and t10k-images-idx3-ubyte, -labels-idx1-ubyte, gzipped or not");
  app.add_option("--partition", settings.partition,
                 "Digits that a rank learns from: shuffled (of all of them), by-label (each rank has other digits)")
      ->capture_default_str();
  app.add_option("--norm", settings.norm,
                 "Normalisation: batch (over a rank's own samples), sync (over all ranks'), group (over channels)")
      ->capture_default_str();
  app.add_flag("--norm-linear", settings.norm_linear,
               "Normalise behind the first linear layer too, where a channel has one value an image");
  app.add_option("--scaling", settings.scaling,
                 "How the learning rate follows --batch from --base-batch: none, linear, square-root")
      ->capture_default_str();
  app.add_option("--base-batch", settings.base_batch, "The batch for which --learning-rate is good")
      ->capture_default_str();
  add_classifier_flags(app, options.common);
}

DigitsOptions parse_digits(const std::vector<std::string>& arguments) {
  DigitsOptions options;
  parse(arguments, options);
  if (!options.common.resume.empty()) {
    DigitsOptions resumed;
    resumed.settings = settings_of_run<DigitsSettings>(options.common.resume, "digits");
    resumed.common.output.out = options.common.resume;
    parse(arguments, resumed);
    options = resumed;
  }
  validate(options);
  options.common.recipe.learning_rate = options.settings.learning_rate();
  return options;
}

}  // namespace lockstep::lab
