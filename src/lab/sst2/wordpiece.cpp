#include "lab/sst2/wordpiece.h"

#include <unicode/utf8.h>

#include <algorithm>

namespace lockstep::lab {

namespace {

constexpr const char* kBegin = "[CLS]";
constexpr const char* kEnd = "[SEP]";
constexpr const char* kPadding = "[PAD]";
constexpr const char* kMask = "[MASK]";

/// Of a text that the rules have passed already.
constexpr WordRules kOnlyCut{
    .clean_text = false, .handle_chinese_chars = false, .strip_accents = false, .lowercase = false};

/// The code points of well-formed UTF-8.
std::size_t characters_in(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !U8_IS_TRAIL(c); }));
}

}  // namespace

void WholeTokens::add(const std::string& text, std::int32_t number) {
  const auto is_it = [&text](const Token& token) { return token.first == text; };
  if (text.empty() || std::any_of(tokens_.begin(), tokens_.end(), is_it)) return;
  const auto shorter = [&text](const Token& token) { return token.first.size() < text.size(); };
  tokens_.emplace(std::find_if(tokens_.begin(), tokens_.end(), shorter), text, number);
  begins_[static_cast<unsigned char>(text.front())] = true;
}

const WholeTokens::Token* WholeTokens::next(std::string_view text, std::size_t& at) const {
  for (; at < text.size(); ++at) {
    if (!begins_[static_cast<unsigned char>(text[at])]) continue;
    const auto found = std::find_if(tokens_.begin(), tokens_.end(),
                                    [&](const Token& token) { return text.substr(at).starts_with(token.first); });
    if (found != tokens_.end()) return &*found;
  }
  return nullptr;
}

WordPiece::WordPiece(const WordPieceModel& model) : splitter_(model.rules), longest_word_(model.longest_word) {
  for (const auto& [token, number] : model.tokens) {
    const bool goes_on = token.starts_with(model.prefix) && token.size() > model.prefix.size();
    if (goes_on) {
      further_.emplace(token.substr(model.prefix.size()), number);
    } else {
      first_.emplace(token, number);
    }
    longest_piece_ = std::max(longest_piece_, token.size());
    size_ = std::max<std::int64_t>(size_, number + 1);
  }
  unknown_ = first_.at(model.unknown);
  padding_ = first_.at(kPadding);
  begin_ = first_.at(kBegin);
  end_ = first_.at(kEnd);
  for (const std::string& token :
       {std::string(kPadding), model.unknown, std::string(kBegin), std::string(kEnd), std::string(kMask)}) {
    if (const auto found = first_.find(token); found != first_.end()) raw_.add(token, found->second);
  }
  for (const AddedToken& added : model.added) {
    (added.normalized ? normal_ : raw_).add(added.normalized ? splitter_.uncut(added.text) : added.text, added.number);
    size_ = std::max<std::int64_t>(size_, added.number + 1);
  }
}

std::vector<std::int32_t> WordPiece::encode(std::string_view text) const {
  std::vector<std::int32_t> pieces;
  raw_.cut(
      text, [&](std::string_view plain) { encode_plain(plain, pieces); },
      [&](std::int32_t number) { pieces.push_back(number); });
  return pieces;
}

std::vector<std::int32_t> WordPiece::encode_for_bert(std::string_view text) const {
  std::vector<std::int32_t> pieces = encode(text);
  pieces.insert(pieces.begin(), begin_);
  pieces.push_back(end_);
  return pieces;
}

std::vector<std::int32_t> WordPiece::encode_for_bert(std::string_view text, std::string_view second) const {
  std::vector<std::int32_t> pieces = encode_for_bert(text);
  const std::vector<std::int32_t> others = encode(second);
  pieces.insert(pieces.end(), others.begin(), others.end());
  pieces.push_back(end_);
  return pieces;
}

void WordPiece::encode_plain(std::string_view text, std::vector<std::int32_t>& pieces) const {
  if (text.empty()) return;
  if (normal_.empty()) return encode_words(splitter_.words(text), pieces);
  const WordSplitter cutter(kOnlyCut);
  normal_.cut(
      splitter_.uncut(text), [&](std::string_view plain) { encode_words(cutter.words(plain), pieces); },
      [&](std::int32_t number) { pieces.push_back(number); });
}

void WordPiece::encode_words(std::string_view words, std::vector<std::int32_t>& pieces) const {
  for (std::size_t begin = 0; begin < words.size();) {
    const std::size_t end = words.find('\n', begin);
    encode_word(words.substr(begin, end - begin), pieces);
    begin = end + 1;
  }
}

void WordPiece::encode_word(std::string_view word, std::vector<std::int32_t>& pieces) const {
  const std::size_t before = pieces.size();
  const bool fits = word.size() <= longest_word_ || characters_in(word) <= longest_word_;
  std::size_t begin = 0;
  while (fits && begin < word.size()) {
    const Pieces& known = begin == 0 ? first_ : further_;
    std::size_t length = std::min(word.size() - begin, longest_piece_);
    auto found = known.end();
    while (length > 0 && (found = known.find(word.substr(begin, length))) == known.end()) --length;
    if (length == 0) break;
    pieces.push_back(found->second);
    begin += length;
  }
  if (begin == word.size()) return;
  pieces.resize(before);
  pieces.push_back(unknown_);
}

}  // namespace lockstep::lab
