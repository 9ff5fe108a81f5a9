#pragma once

#include <string>
#include <string_view>

namespace lockstep::lab {

/// What BERT does to a text before it looks for words (Devlin et al. 2019), under the names that `tokenizer.json` has
/// for it.
struct WordRules {
  bool clean_text = true;            ///< control characters go, white space becomes spaces
  bool handle_chinese_chars = true;  ///< each ideograph is a word
  bool strip_accents = true;         ///< what NFD leaves without marks
  bool lowercase = true;             ///< character by character
};

/// Cuts texts into words: at white space, and around each character of punctuation, which is a word too.
class WordSplitter {
 public:
  explicit WordSplitter(const WordRules& rules) : rules_(rules) {}

  /// The words of a text in UTF-8, each followed by a newline. Ill-formed UTF-8 counts as U+FFFD.
  std::string words(std::string_view text) const;
  /// What the rules make of a text, in UTF-8, before it is cut.
  std::string uncut(std::string_view text) const;

 private:
  bool splits_as_ascii(std::string_view text, std::string& words) const;
  std::u16string normalised(std::string_view text) const;

  WordRules rules_;
};

}  // namespace lockstep::lab
