#include "lab/input_file.h"
#include "lab/sst2/wordpiece.h"
#include "lab/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace lockstep::lab {

namespace {

using nlohmann::json;

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
    model.unknown = said.at("unk_token").get<std::string>();
    model.longest_word = said.at("max_input_chars_per_word").get<std::size_t>();
    for (const auto& [token, number] : said.at("vocab").items()) {
      model.tokens.emplace_back(token, number_of(token, number));
    }
    return model;
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

}  // namespace lockstep::lab
