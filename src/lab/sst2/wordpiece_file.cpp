#include "base/atomic_file.h"
#include "lab/input_file.h"
#include "lab/sst2/wordpiece.h"
#include "lab/utf8.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <system_error>
#include <unordered_set>

namespace lockstep::lab {

namespace {

using nlohmann::json;

constexpr const char* kTokenizerConfig = "tokenizer_config.json";
constexpr const char* kVocabularyText = "vocab.txt";
constexpr const char* kVocabularyJson = "tokenizer.json";

/// What `tokenizer_config.json` in this folder says, if it is there; by default BERT's, uncased.
WordRules rules_in(const std::filesystem::path& folder) {
  WordRules rules;
  const InputFile file(folder / kTokenizerConfig);
  std::error_code error;
  if (!std::filesystem::exists(file.path(), error)) return rules;
  const json said = json::parse(file.content(), nullptr, /*allow_exceptions=*/false);
  if (!said.is_object()) file.refuse("it is not a JSON object.");
  const auto flag = [&](const char* name, bool otherwise) {
    if (!said.contains(name) || said[name].is_null()) return otherwise;
    if (!said[name].is_boolean()) {
      file.refuse(fmt::format("its {} is {}, which is neither true nor false.", name, said[name].dump()));
    }
    return said[name].get<bool>();
  };
  rules.lowercase = flag("do_lower_case", true);
  rules.strip_accents = flag("strip_accents", rules.lowercase);
  rules.handle_chinese_chars = flag("tokenize_chinese_chars", true);
  return rules;
}

/// Whose sentences begin with its name.
class VocabularyFile {
 public:
  explicit VocabularyFile(const std::filesystem::path& file) : file_(file) {}

  WordPieceModel read() const {
    const std::string content = file_.content();
    WordPieceModel model = file_.path().extension() == ".json" ? read_json(content) : read_lines(content);
    require_tokens(model);
    return model;
  }

 private:
  [[noreturn]] void refuse(const std::string& why) const { file_.refuse(why); }

  WordPieceModel read_lines(const std::string& content) const {
    WordPieceModel model;
    model.rules = rules_in(file_.path().parent_path());
    for (std::size_t begin = 0; begin < content.size();) {
      const std::size_t end = std::min(content.find('\n', begin), content.size());
      std::string token = content.substr(begin, end - begin);
      begin = end + 1;
      if (token.ends_with('\r')) token.pop_back();
      const auto number = static_cast<std::int32_t>(model.tokens.size());
      if (token.empty()) refuse(fmt::format("line {} is empty; each line of a vocabulary is a token.", number + 1));
      model.tokens.emplace_back(std::move(token), number);
    }
    return model;
  }

  WordPieceModel read_json(const std::string& content) const {
    const json all = json::parse(content, nullptr, /*allow_exceptions=*/false);
    if (all.is_discarded()) refuse("it is not JSON.");
    try {
      return model_of(all);
    } catch (const json::exception& error) {
      refuse(fmt::format("it is not a tokenizer.json of Hugging Face's tokenizers ({}).", error.what()));
    }
  }

  WordPieceModel model_of(const json& all) const {
    const json& said = all.at("model");
    // Older files do not say what their model is; only WordPiece has a prefix for what goes on a word.
    if (said.value("type", "WordPiece") != "WordPiece" || !said.contains("continuing_subword_prefix")) {
      refuse("its model is not WordPiece.");
    }
    const json& normalizer = all.at("normalizer");
    if (!normalizer.is_object() || normalizer.value("type", "") != "BertNormalizer") {
      refuse("its normalizer is not BertNormalizer, the one that is implemented.");
    }
    if (all.at("pre_tokenizer").value("type", "") != "BertPreTokenizer") {
      refuse("its pre_tokenizer is not BertPreTokenizer, the one that is implemented.");
    }
    WordPieceModel model;
    model.rules.clean_text = normalizer.at("clean_text").get<bool>();
    model.rules.handle_chinese_chars = normalizer.at("handle_chinese_chars").get<bool>();
    model.rules.lowercase = normalizer.at("lowercase").get<bool>();
    const json& strip = normalizer.at("strip_accents");
    model.rules.strip_accents = strip.is_null() ? model.rules.lowercase : strip.get<bool>();
    model.prefix = said.at("continuing_subword_prefix").get<std::string>();
    if (model.prefix.empty()) refuse("its continuing_subword_prefix is empty, so that no token could begin a word.");
    model.unknown = said.at("unk_token").get<std::string>();
    model.longest_word = said.at("max_input_chars_per_word").get<std::size_t>();
    for (const auto& [token, number] : said.at("vocab").items()) {
      model.tokens.emplace_back(token, number_of(token, number));
    }
    const json added = all.value("added_tokens", json::array());
    for (const json& token : added) model.added.push_back(added_of(token, said.at("vocab")));
    return model;
  }

  AddedToken added_of(const json& said, const json& vocabulary) const {
    AddedToken token;
    token.text = said.at("content").get<std::string>();
    token.number = number_of(token.text, said.at("id"));
    token.normalized = said.value("normalized", false);
    if (said.value("single_word", false)) {
      refuse(
          fmt::format("its added token '{}' is a single_word, which is for whole words only; those that are taken here "
                      "count within words too: set its single_word to false.",
                      printable(token.text)));
    }
    if (vocabulary.contains(token.text) && vocabulary.at(token.text) != token.number) {
      refuse(fmt::format("its added token '{}' has the number {}, and {} in the vocabulary.", printable(token.text),
                         token.number, vocabulary.at(token.text).dump()));
    }
    return token;
  }

  std::int32_t number_of(const std::string& token, const json& number) const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max() - 1;
    if (!number.is_number_integer() || number.get<std::int64_t>() < 0 || number.get<std::int64_t>() > kMost) {
      refuse(fmt::format("the number of its token '{}' is {}.", printable(token), number.dump()));
    }
    return static_cast<std::int32_t>(number.get<std::int64_t>());
  }

  void require_tokens(const WordPieceModel& model) const {
    std::unordered_set<std::string_view> seen;
    for (const auto& [token, number] : model.tokens) {
      if (!seen.insert(token).second) refuse(fmt::format("it has the token '{}' twice.", printable(token)));
    }
    for (const std::string_view needed : {std::string_view(model.unknown), std::string_view("[CLS]"),
                                          std::string_view("[SEP]"), std::string_view("[PAD]")}) {
      if (!seen.contains(needed)) {
        refuse(fmt::format("it has no token {}, so it is no vocabulary of BERT's.", printable(needed)));
      }
    }
  }

  InputFile file_;
};

}  // namespace

WordPieceModel read_wordpiece(const std::filesystem::path& file) { return VocabularyFile(file).read(); }

void write_tokenizer(const TokenizerFiles& files, const std::filesystem::path& folder) {
  const json config = {{"do_lower_case", files.rules.lowercase},
                       {"strip_accents", files.rules.strip_accents},
                       {"tokenize_chinese_chars", files.rules.handle_chinese_chars}};
  write_file_atomically(folder / kTokenizerConfig, config.dump(2) + "\n");
  write_file_atomically(folder / (files.is_json ? kVocabularyJson : kVocabularyText), files.vocabulary);
  std::error_code error;  // none where it is not there
  std::filesystem::remove(folder / (files.is_json ? kVocabularyText : kVocabularyJson), error);
  if (error) {
    throw Error(ErrorCode::kIo,
                fmt::format("Removing the other vocabulary from {} failed: {}.", folder.string(), error.message()));
  }
}

}  // namespace lockstep::lab
