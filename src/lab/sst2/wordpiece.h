#pragma once

#include "lab/sst2/words.h"

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// A token that counts as itself wherever it stands in a text, also within a word.
struct AddedToken {
  std::string text;
  std::int32_t number = 0;
  bool normalized = false;  ///< looked for in what the rules make of a text, as they make it; else in the text as it is
};

/// What a vocabulary file says.
struct WordPieceModel {
  std::vector<std::pair<std::string, std::int32_t>> tokens;  ///< each once
  std::vector<AddedToken> added;                             ///< beside the special ones, which stand in `tokens`
  WordRules rules;
  std::string prefix = "##";       ///< of pieces that go on a word
  std::string unknown = "[UNK]";   ///< token
  std::size_t longest_word = 100;  ///< in characters; longer ones are unknown
};

/// Reads `vocab.txt` (a token a line, numbered from 0), with the rules of a `tokenizer_config.json` beside it, or, if
/// the name ends in .json, `tokenizer.json` of Hugging Face's tokenizers. Throws Error (kInvalidArgument) with the file
/// and what is wrong: a vocabulary without [UNK], [CLS], [SEP] or [PAD], a token twice, a tokenizer of another kind.
WordPieceModel read_wordpiece(const std::filesystem::path& file);

/// What is kept of a vocabulary beside a model that was trained with it.
struct TokenizerFiles {
  bool is_json = false;    ///< tokenizer.json, else vocab.txt
  std::string vocabulary;  ///< content of that file
  WordRules rules;
};

/// Writes them into a folder, by the names by which read_wordpiece and Hugging Face's AutoTokenizer know them, and
/// removes a vocabulary of the other kind. Throws Error (kIo).
void write_tokenizer(const TokenizerFiles& files, const std::filesystem::path& folder);

/// Tokens that count as themselves wherever they stand in a text: from left to right, of several that begin at a place
/// the longest.
class WholeTokens {
 public:
  /// The first number that a text is given stays.
  void add(const std::string& text, std::int32_t number);
  bool empty() const { return tokens_.empty(); }

  /// Calls `found` with the number of each that stands in `text`, and `between` with what stands beside them.
  template <class Between, class Found>
  void cut(std::string_view text, const Between& between, const Found& found) const {
    std::size_t begin = 0, at = 0;
    while (const Token* token = next(text, at)) {
      between(text.substr(begin, at - begin));
      found(token->second);
      begin = at += token->first.size();
    }
    between(text.substr(begin));
  }

 private:
  using Token = std::pair<std::string, std::int32_t>;
  /// The first one from `at` on, which becomes its place; null if there is none.
  const Token* next(std::string_view text, std::size_t& at) const;

  std::vector<Token> tokens_;          // the longest first
  std::array<bool, 256> begins_ = {};  // by a token's first byte
};

/// BERT's tokenizer: words into the longest pieces that the vocabulary has, from left to right (Schuster and Nakajima
/// 2012; Devlin et al. 2019). Equal to Hugging Face's BertTokenizerFast. Not changed by use.
class WordPiece {
 public:
  /// Throws as read_wordpiece.
  explicit WordPiece(const std::filesystem::path& file) : WordPiece(read_wordpiece(file)) {}
  explicit WordPiece(const WordPieceModel& model);

  /// The pieces of a text. Special and added tokens that stand in it, as [MASK], count as themselves.
  std::vector<std::int32_t> encode(std::string_view text) const;
  /// [CLS] text [SEP], or with a second text [CLS] text [SEP] second [SEP].
  std::vector<std::int32_t> encode_for_bert(std::string_view text) const;
  std::vector<std::int32_t> encode_for_bert(std::string_view text, std::string_view second) const;

  std::int32_t padding() const { return padding_; }
  std::int32_t unknown() const { return unknown_; }
  /// One more than the largest number of a token.
  std::int64_t size() const { return size_; }

 private:
  /// For look-up without a copy.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  using Pieces = std::unordered_map<std::string, std::int32_t, Hash, std::equal_to<>>;

  void encode_plain(std::string_view text, std::vector<std::int32_t>& pieces) const;
  /// Of words, each followed by a newline.
  void encode_words(std::string_view words, std::vector<std::int32_t>& pieces) const;
  void encode_word(std::string_view word, std::vector<std::int32_t>& pieces) const;

  WordSplitter splitter_;
  Pieces first_;        // pieces that begin a word
  Pieces further_;      // others, without their prefix
  WholeTokens raw_;     // of texts as they are
  WholeTokens normal_;  // of what the rules make of them
  std::size_t longest_word_;
  std::size_t longest_piece_ = 0;  // bytes
  std::int64_t size_ = 0;
  std::int32_t unknown_ = 0;
  std::int32_t padding_ = 0;
  std::int32_t begin_ = 0;  // [CLS]
  std::int32_t end_ = 0;    // [SEP]
};

}  // namespace lockstep::lab
