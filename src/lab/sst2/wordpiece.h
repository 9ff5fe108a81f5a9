#pragma once

#include "lab/sst2/words.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace lockstep::lab {

/// What a vocabulary file says.
struct WordPieceModel {
  std::vector<std::pair<std::string, std::int32_t>> tokens;  ///< each once
  WordRules rules;
  std::string prefix = "##";       ///< of pieces that go on a word
  std::string unknown = "[UNK]";   ///< token
  std::size_t longest_word = 100;  ///< in characters; longer ones are unknown
};

/// Reads `vocab.txt` (a token a line, numbered from 0) or, if the name ends in .json, `tokenizer.json` of Hugging
/// Face's tokenizers. Throws Error (kInvalidArgument) with the file and what is wrong: a vocabulary without [UNK],
/// [CLS], [SEP] or [PAD], a token twice, a tokenizer of another kind.
WordPieceModel read_wordpiece(const std::filesystem::path& file);

/// BERT's tokenizer: words into the longest pieces that the vocabulary has, from left to right (Schuster and Nakajima
/// 2012; Devlin et al. 2019). Equal to Hugging Face's BertTokenizerFast. Not changed by use.
class WordPiece {
 public:
  /// Throws as read_wordpiece.
  explicit WordPiece(const std::filesystem::path& file) : WordPiece(read_wordpiece(file)) {}
  explicit WordPiece(const WordPieceModel& model);

  /// The pieces of a text. Special tokens that stand in it, as [MASK], count as themselves.
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
  void encode_word(std::string_view word, std::vector<std::int32_t>& pieces) const;

  WordSplitter splitter_;
  Pieces first_;    // pieces that begin a word
  Pieces further_;  // others, without their prefix
  std::vector<std::pair<std::string, std::int32_t>> special_;
  std::size_t longest_word_;
  std::size_t longest_piece_ = 0;  // bytes
  std::int64_t size_ = 0;
  std::int32_t unknown_ = 0;
  std::int32_t padding_ = 0;
  std::int32_t begin_ = 0;  // [CLS]
  std::int32_t end_ = 0;    // [SEP]
};

}  // namespace lockstep::lab
