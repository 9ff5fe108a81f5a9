#include "lab/sst2/distilbert_weights.h"

#include "lab/input_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>
#include <lockstep/safetensors.h>
#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

namespace lockstep::lab {

namespace {

constexpr const char* kTypes = "bert.embeddings.token_type_embeddings.weight";
constexpr const char* kPositions = "distilbert.embeddings.position_embeddings.weight";

bool begins_with_any(const std::string& name, std::initializer_list<const char*> beginnings) {
  return std::any_of(beginnings.begin(), beginnings.end(),
                     [&name](const char* beginning) { return name.rfind(beginning, 0) == 0; });
}

void rename_end(std::string& name, const std::string& from, const std::string& to) {
  if (name.size() < from.size() || name.compare(name.size() - from.size(), from.size(), from) != 0) return;
  name.replace(name.size() - from.size(), from.size(), to);
}

/// What BERT calls the parts of a layer, and what DistilBERT does.
constexpr std::array<std::pair<const char*, const char*>, 8> kLayerParts{{
    {"attention.self.query", "attention.q_lin"},
    {"attention.self.key", "attention.k_lin"},
    {"attention.self.value", "attention.v_lin"},
    {"attention.output.dense", "attention.out_lin"},
    {"attention.output.LayerNorm", "sa_layer_norm"},
    {"intermediate.dense", "ffn.lin1"},
    {"output.dense", "ffn.lin2"},
    {"output.LayerNorm", "output_layer_norm"},
}};

/// DistilBERT's name for a tensor of BERT, "encoder.layer.0.output.dense.bias"; empty if it has none.
std::string name_of_layer_part(const std::string& name) {
  const std::string layers = "bert.encoder.layer.";
  const std::size_t dot = name.find('.', layers.size());
  if (name.rfind(layers, 0) != 0 || dot == std::string::npos) return {};
  const std::string number = name.substr(layers.size(), dot - layers.size());
  const std::size_t last = name.rfind('.');
  const std::string part = name.substr(dot + 1, last - dot - 1);
  const auto* const found =
      std::find_if(kLayerParts.begin(), kLayerParts.end(), [&part](const auto& pair) { return part == pair.first; });
  if (found == kLayerParts.end()) return {};
  return fmt::format("distilbert.transformer.layer.{}.{}{}", number, found->second, name.substr(last));
}

/// A folder without the file is the user's mistake, not the disk's.
SafetensorsFile opened(const InputFile& input, const std::filesystem::path& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) input.refuse("there is no such file; weights are in safetensors' format.");
  try {
    return SafetensorsFile(path);
  } catch (const Error& unreadable) {
    throw Error(ErrorCode::kInvalidArgument, unreadable.what());
  }
}

/// A file's tensors by the names of our model.
class Weights {
 public:
  explicit Weights(const std::filesystem::path& path) : input_(path), file_(opened(input_, path)) {
    const char* const query = "encoder.layer.0.attention.self.query.weight";
    is_bert_ = file_.contains(query) || file_.contains(std::string("bert.") + query);
    for (const std::string& name : file_.names()) sort_in(name, is_bert_ ? "bert." : "distilbert.");
  }

  /// In float32, of this shape; undefined where a parameter of the classifier is missing.
  torch::Tensor take(const std::string& name, torch::IntArrayRef shape) {
    const auto found = names_.find(name);
    if (found == names_.end()) {
      if (begins_with_any(name, {"pre_classifier.", "classifier."})) return {};
      refuse(fmt::format("it has no tensor for '{}'.", name));
    }
    const std::string theirs = found->second;
    names_.erase(found);
    const auto sizes = file_.sizes(theirs);
    if (torch::IntArrayRef(sizes) != shape) {
      refuse(fmt::format(
          "its tensor '{}' is of shape [{}], and the model's is [{}]: is config.json that of these weights?", theirs,
          fmt::join(sizes, ", "), fmt::join(shape, ", ")));
    }
    torch::Tensor value = float_tensor(theirs);
    if (name == kPositions && is_bert_) value = value + first_type(shape.back());
    return value;
  }

  /// Refuses a classifier of which only a part is missing.
  void require_all_or_none(const std::vector<std::string>& missing) const {
    constexpr std::size_t kClassifierTensors = 4;
    if (missing.empty() || missing.size() == kClassifierTensors) return;
    refuse(
        fmt::format("it has a part of the classifier and no tensors for '{}': give weights that have all of it, or "
                    "nothing of it, whose classifier begins anew.",
                    fmt::join(missing, "', '")));
  }

  /// What is not taken.
  std::vector<std::string> rest() const {
    if (!names_.empty()) refuse(fmt::format("its tensor '{}' is no part of the model.", names_.begin()->second));
    return unused_;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { input_.refuse(why); }

  /// Files of a bare encoder name its parts without the `prefix`.
  void sort_in(const std::string& name, const std::string& prefix) {
    const bool bare = begins_with_any(name, {"embeddings.", "encoder.", "transformer.", "pooler."});
    std::string full = bare ? prefix + name : name;
    if (begins_with_any(full, {"vocab_", "cls.", "bert.pooler.", "qa_outputs."}) ||
        full.ends_with("bert.embeddings.position_ids")) {
      unused_.push_back(name);
      return;
    }
    if (is_bert_ && full == kTypes) {
      types_ = name;
      return;
    }
    if (begins_with_any(full, {"bert.embeddings."})) full = "distil" + full;
    rename_end(full, ".gamma", ".weight");  // as the first files of BERT have it
    rename_end(full, ".beta", ".bias");
    if (const std::string part = name_of_layer_part(full); !part.empty()) full = part;
    names_.emplace(full, name);
  }

  /// What BERT adds at each position of the first sentence, {width}.
  torch::Tensor first_type(std::int64_t width) const {
    if (types_.empty()) refuse(fmt::format("it has no tensor for '{}'.", kTypes));
    const auto sizes = file_.sizes(types_);
    if (sizes.size() != 2 || sizes[0] < 1 || sizes[1] != width) {
      refuse(
          fmt::format("its tensor '{}' is of shape [{}], and must be of [types, {}], as wide as the model: is "
                      "config.json that of these weights?",
                      types_, fmt::join(sizes, ", "), width));
    }
    return float_tensor(types_)[0];
  }

  torch::Tensor float_tensor(const std::string& name) const {
    const std::string& type = file_.dtype(name);
    if (type != "F32" && type != "F16" && type != "BF16") {
      refuse(fmt::format("its tensor '{}' is of type {}; it takes F32, F16 and BF16.", name, type));
    }
    return file_.tensor(name).to(torch::kFloat32);
  }

  InputFile input_;
  SafetensorsFile file_;
  bool is_bert_ = false;
  std::map<std::string, std::string> names_;  // ours: theirs
  std::string types_;                         // theirs, BERT's; empty if there are none
  std::vector<std::string> unused_;
};

}  // namespace

WeightsReport load_weights(DistilBertImpl& model, const std::filesystem::path& file) {
  Weights weights(file);
  WeightsReport report;
  std::vector<std::pair<torch::Tensor, torch::Tensor>> values;
  for (const auto& parameter : model.named_parameters()) {
    const torch::Tensor value = weights.take(parameter.key(), parameter.value().sizes());
    if (value.defined()) {
      values.emplace_back(parameter.value(), value);
    } else {
      report.drawn.push_back(parameter.key());
    }
  }
  weights.require_all_or_none(report.drawn);
  report.unused = weights.rest();
  const torch::NoGradGuard no_grad;
  for (auto& [parameter, value] : values) parameter.copy_(value);
  return report;
}

void save_weights(const DistilBertImpl& model, const std::filesystem::path& file) {
  std::vector<std::pair<std::string, torch::Tensor>> tensors;
  for (const auto& parameter : model.named_parameters())
    tensors.emplace_back(parameter.key(), parameter.value().detach());
  write_safetensors(file, tensors, {{"format", "pt"}});
}

}  // namespace lockstep::lab
