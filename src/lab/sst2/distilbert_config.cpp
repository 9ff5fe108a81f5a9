#include "lab/sst2/distilbert_config.h"

#include "base/atomic_file.h"
#include "lab/input_file.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

namespace lockstep::lab {

namespace {

using nlohmann::json;

/// Whose sentences begin with its name.
class ConfigFile {
 public:
  explicit ConfigFile(const std::filesystem::path& file) : file_(file) {}

  DistilBertConfig read() const {
    const json said = json::parse(file_.content(), nullptr, /*allow_exceptions=*/false);
    if (!said.is_object()) refuse("it is not a JSON object.");
    const DistilBertConfig config = config_of(said);
    require_sensible(config);
    return config;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { file_.refuse(why); }

  DistilBertConfig config_of(const json& said) const {
    if (!said.contains("model_type")) refuse("it has no model_type; it takes distilbert and bert.");
    const std::string type = text(said, "model_type", "");
    if (type != "distilbert" && type != "bert") {
      refuse(fmt::format("its model_type is '{}'; it takes distilbert and bert.", type));
    }
    const bool bert = type == "bert";
    const char* const activation = bert ? "hidden_act" : "activation";
    if (text(said, activation, "gelu") != "gelu") {
      refuse(fmt::format("its {} is '{}'; it takes gelu.", activation, text(said, activation, "gelu")));
    }
    if (const std::string kind = text(said, "position_embedding_type", "absolute"); kind != "absolute") {
      refuse(fmt::format("its position_embedding_type is '{}'; it takes absolute.", kind));
    }
    DistilBertConfig config;
    config.vocabulary = size(said, "vocab_size");
    config.positions = size(said, "max_position_embeddings");
    config.width = size(said, bert ? "hidden_size" : "dim");
    config.layers = size(said, bert ? "num_hidden_layers" : "n_layers");
    config.heads = size(said, bert ? "num_attention_heads" : "n_heads");
    config.feed_forward = size(said, bert ? "intermediate_size" : "hidden_dim");
    config.dropout = share(said, bert ? "hidden_dropout_prob" : "dropout", config.dropout);
    config.attention_dropout =
        share(said, bert ? "attention_probs_dropout_prob" : "attention_dropout", config.attention_dropout);
    config.classifier_dropout =
        share(said, bert ? "classifier_dropout" : "seq_classif_dropout", config.classifier_dropout);
    config.initial_deviation = share(said, "initializer_range", config.initial_deviation);
    if (said.contains("pad_token_id")) config.padding = number(said, "pad_token_id");
    config.norm_epsilon = share(said, "layer_norm_eps", config.norm_epsilon);
    if (said.contains("id2label") && said["id2label"].is_object()) {
      config.label_names = names_in(said["id2label"]);
      config.labels = static_cast<std::int64_t>(config.label_names.size());
    }
    return config;
  }

  /// Of the classes "0", "1", ...
  std::vector<std::string> names_in(const json& labels) const {
    if (labels.empty()) refuse("its id2label names no classes.");
    std::vector<std::string> names;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const auto found = labels.find(std::to_string(i));
      if (found == labels.end()) refuse(fmt::format("its id2label has {} names, and none for {}.", labels.size(), i));
      names.push_back(found->is_string() ? found->get<std::string>() : found->dump());
    }
    return names;
  }

  std::string text(const json& said, const char* name, const std::string& otherwise) const {
    if (!said.contains(name)) return otherwise;
    if (!said[name].is_string()) refuse(fmt::format("its {} is {}, which is no text.", name, said[name].dump()));
    return said[name].get<std::string>();
  }

  std::int64_t number(const json& said, const char* name) const {
    if (!said.contains(name)) refuse(fmt::format("it does not say {}.", name));
    if (!said[name].is_number_integer())
      refuse(fmt::format("its {} is {}, which is no whole number.", name, said[name].dump()));
    return said[name].get<std::int64_t>();
  }

  std::int64_t size(const json& said, const char* name) const {
    constexpr std::int64_t kMost = std::int64_t{1} << 24;
    const std::int64_t value = number(said, name);
    if (value < 1 || value > kMost) refuse(fmt::format("its {} is {}; it must be from 1 to {}.", name, value, kMost));
    return value;
  }

  /// A number from 0 up to, and without, 1.
  double share(const json& said, const char* name, double otherwise) const {
    if (!said.contains(name) || said[name].is_null()) return otherwise;
    const double value = said[name].is_number() ? said[name].get<double>() : -1;
    if (value < 0 || value >= 1)
      refuse(fmt::format("its {} is {}; it must be 0 or more and below 1.", name, said[name].dump()));
    return value;
  }

  void require_sensible(const DistilBertConfig& config) const {
    if (config.width % config.heads != 0) {
      refuse(fmt::format("a width of {} cannot be cut into {} heads.", config.width, config.heads));
    }
    if (config.padding < 0 || config.padding >= config.vocabulary) {
      refuse(fmt::format("its pad_token_id {} is no token of {}.", config.padding, config.vocabulary));
    }
  }

  InputFile file_;
};

}  // namespace

std::int64_t parameter_count(const DistilBertConfig& c) {
  const std::int64_t norm = 2 * c.width;
  const std::int64_t attention = 4 * (c.width + 1) * c.width;
  const std::int64_t feed_forward = (c.width + 1) * c.feed_forward + (c.feed_forward + 1) * c.width;
  const std::int64_t head = (c.width + 1) * c.width + (c.width + 1) * c.labels;
  return (c.vocabulary + c.positions) * c.width + norm + c.layers * (attention + feed_forward + 2 * norm) + head;
}

DistilBertConfig read_config(const std::filesystem::path& file) { return ConfigFile(file).read(); }

void write_config(const DistilBertConfig& config, const std::filesystem::path& file) {
  json names = json::object(), numbers = json::object();
  for (std::int64_t i = 0; i < config.labels; ++i) {
    const bool named = !config.label_names.empty();
    const std::string name = named ? config.label_names.at(static_cast<std::size_t>(i)) : fmt::format("LABEL_{}", i);
    names[std::to_string(i)] = name;
    numbers[name] = i;
  }
  const json said = {{"architectures", {"DistilBertForSequenceClassification"}},
                     {"model_type", "distilbert"},
                     {"vocab_size", config.vocabulary},
                     {"max_position_embeddings", config.positions},
                     {"sinusoidal_pos_embds", false},
                     {"dim", config.width},
                     {"n_layers", config.layers},
                     {"n_heads", config.heads},
                     {"hidden_dim", config.feed_forward},
                     {"activation", "gelu"},
                     {"dropout", config.dropout},
                     {"attention_dropout", config.attention_dropout},
                     {"seq_classif_dropout", config.classifier_dropout},
                     {"initializer_range", config.initial_deviation},
                     {"layer_norm_eps", config.norm_epsilon},
                     {"pad_token_id", config.padding},
                     {"id2label", names},
                     {"label2id", numbers}};
  write_file_atomically(file, said.dump(2) + "\n");
}

}  // namespace lockstep::lab
