#include "lab/sst2/task.h"

#include "base/units.h"
#include "lab/classifier/adamw.h"
#include "lab/input_file.h"
#include "lab/require.h"
#include "lab/sst2/sentences.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/padding.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace lockstep::lab {

namespace {

namespace fs = std::filesystem;

DistilBertConfig config_of(const Sst2Settings& settings) {
  if (!settings.weights.empty()) return read_config(fs::path(settings.weights) / "config.json");
  return sst2_preset(settings.preset).config;
}

/// Embeddings of no token that comes are not trained: a vocabulary that the model has no room for is an error.
void require_room(const DistilBertConfig& config, const WordPiece& wordpiece, const fs::path& vocabulary) {
  require(wordpiece.size() <= config.vocabulary,
          fmt::format("{} has {} tokens, and the model has embeddings for {}: give the model's own --vocabulary.",
                      vocabulary.string(), wordpiece.size(), config.vocabulary));
}

}  // namespace

fs::path find_vocabulary(const Sst2Settings& settings) {
  if (!settings.vocabulary.empty()) return settings.vocabulary;
  std::vector<fs::path> folders;
  if (!settings.weights.empty()) folders.emplace_back(settings.weights);
  folders.emplace_back(settings.data);
  folders.push_back(fs::path(settings.data) / ".." / "bert-base-uncased");
  for (const fs::path& folder : folders) {
    for (const char* name : {"tokenizer.json", "vocab.txt"}) {
      std::error_code error;
      if (fs::exists(folder / name, error)) return (folder / name).lexically_normal();
    }
  }
  std::vector<std::string> names;
  for (const fs::path& folder : folders) names.push_back(folder.lexically_normal().string());
  refuse(fmt::format("--vocabulary is needed: there is neither vocab.txt nor tokenizer.json in {}.",
                     fmt::join(names, " or ")));
}

Sst2Task::Sst2Task(Sst2Options options) : options_(std::move(options)), config_(config_of(options_.settings)) {
  const fs::path data = options_.settings.data;
  const fs::path vocabulary = find_vocabulary(options_.settings);
  const WordPieceModel pieces = read_wordpiece(vocabulary);
  const WordPiece wordpiece(pieces);
  // Now: at the end of a training the file may be another one, or gone.
  tokenizer_ = {vocabulary.extension() == ".json", InputFile(vocabulary).content(), pieces.rules};
  require(config_.labels == 2, fmt::format("The model in --weights {} tells {} classes apart, and SST-2 has 2.",
                                           options_.settings.weights, config_.labels));
  require_room(config_, wordpiece, vocabulary);
  if (options_.settings.weights.empty()) {
    config_.vocabulary = wordpiece.size();
    config_.padding = wordpiece.padding();
  }
  training_ = std::make_shared<Examples>(read_sst2(data / "train.tsv"), wordpiece, max_tokens());
  auto evaluation = std::make_shared<Examples>(read_sst2(data / "dev.tsv"), wordpiece, max_tokens());
  evaluation->sort_by_length();
  evaluation_ = std::move(evaluation);
}

std::int64_t Sst2Task::max_tokens() const { return std::min(options_.settings.max_tokens, config_.positions); }

RunRecord Sst2Task::describe() const {
  RunRecord run;
  run.title = fmt::format("sst2: DistilBERT, {} layer{}, {} wide", config_.layers, config_.layers == 1 ? "" : "s",
                          config_.width);
  run.item = "sentences";
  return run;
}

std::string Sst2Task::announcement() const {
  const auto count = [](std::int64_t value) { return format_count(static_cast<std::uint64_t>(value)); };
  std::string said = fmt::format("{} sentences to learn from, {} to judge by, {} tokens", count(training_->size()),
                                 count(evaluation_->size()), count(config_.vocabulary));
  if (const std::int64_t cut = training_->cut() + evaluation_->cut(); cut > 0) {
    said += fmt::format(
        "; {} sentence{} cut to {} tokens, {}", count(cut), cut == 1 ? "" : "s", max_tokens(),
        max_tokens() < options_.settings.max_tokens ? "all that the model has positions for" : "as --max-tokens says");
  }
  return said;
}

std::string Sst2Task::remark() const {
  std::vector<std::string> said;
  if (!loaded_.drawn.empty()) said.emplace_back("no classifier, which begins anew");
  if (!loaded_.unused.empty()) said.push_back(fmt::format("not used: {}", fmt::join(loaded_.unused, ", ")));
  if (said.empty()) return {};
  return fmt::format("weights of {}: {}", options_.settings.weights, fmt::join(said, "; "));
}

std::shared_ptr<torch::nn::Module> Sst2Task::make_model(const Group& /*group*/, Sharded& sharded) {
  model_ = DistilBert(config_, &sharded);
  return model_.ptr();
}

void Sst2Task::load_weights() {
  if (options_.settings.weights.empty()) return;
  loaded_ = lab::load_weights(*model_, fs::path(options_.settings.weights) / "model.safetensors");
}

std::unique_ptr<torch::optim::Optimizer> Sst2Task::make_optimizer(const Sharded& sharded) {
  return make_adamw(sharded, options_.common.recipe.weight_decay);
}

torch::Tensor Sst2Task::logits(const Batch& batch) {
  return model_->forward(batch.data, padding_mask(batch.lengths).logical_not());
}

std::unique_ptr<Loader> Sst2Task::training_loader(const Group& group, std::int64_t batch) {
  const auto fetch = [examples = training_](const std::vector<std::size_t>& indices) {
    return examples->fetch(indices);
  };
  return std::make_unique<Loader>(
      group, training_->size(), fetch,
      LoaderOptions{
          .global_batch = batch, .seed = options_.common.recipe.seed, .lengths = training_->lengths(), .workers = 1});
}

std::unique_ptr<Loader> Sst2Task::evaluation_loader(const Group& group) {
  constexpr std::int64_t kBatch = 128;
  const auto fetch = [examples = evaluation_](const std::vector<std::size_t>& indices) {
    return examples->fetch(indices);
  };
  return std::make_unique<Loader>(
      group, evaluation_->size(), fetch,
      LoaderOptions{.global_batch = kBatch, .shuffle = false, .lengths = evaluation_->lengths()});
}

void Sst2Task::save(const fs::path& folder) const {
  fs::create_directories(folder);
  write_config(config_, folder / "config.json");
  write_tokenizer(tokenizer_, folder);
  save_weights(*model_, folder / "model.safetensors");
}

}  // namespace lockstep::lab
