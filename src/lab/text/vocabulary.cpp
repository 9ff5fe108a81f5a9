#include "lab/text/vocabulary.h"

#include "base/nearest.h"
#include "lab/utf8.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <set>

namespace lockstep::lab {

namespace {

constexpr int kBytes = 256;

/// Calls `visit` with each character. Throws where the text is not UTF-8.
template <class Visit>
void for_each_character(std::string_view text, Visit visit) {
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t length = utf8_length(text, position);
    if (length == 0) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("The text is not UTF-8 at byte {}: use --tokens bytes, or convert it.", position));
    }
    visit(text.substr(position, length));
    position += length;
  }
}

}  // namespace

std::string_view to_string(TokenKind kind) { return kind == TokenKind::kBytes ? "bytes" : "chars"; }

TokenKind parse_token_kind(std::string_view name) {
  if (name == "chars") return TokenKind::kCharacters;
  if (name == "bytes") return TokenKind::kBytes;
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("--tokens cannot be '{}'. {}", name, suggestion(name, {"chars", "bytes"})));
}

Vocabulary::Vocabulary(TokenKind kind, std::string_view text) : kind_(kind) {
  if (kind == TokenKind::kBytes) {
    for (int byte = 0; byte < kBytes; ++byte) symbols_.emplace_back(1, static_cast<char>(byte));
  } else {
    // The order of UTF-8 strings is that of their code points.
    std::set<std::string, std::less<>> characters;
    for_each_character(text, [&](std::string_view character) {
      if (characters.find(character) == characters.end()) characters.emplace(character);
    });
    symbols_.assign(characters.begin(), characters.end());
  }
  for (std::size_t i = 0; i < symbols_.size(); ++i) numbers_.emplace(symbols_[i], static_cast<std::int32_t>(i));
}

std::string Vocabulary::alphabet() const {
  std::string all;
  if (kind_ == TokenKind::kCharacters) {
    for (const std::string& symbol : symbols_) all += symbol;
  }
  return all;
}

std::vector<std::int32_t> Vocabulary::encode(std::string_view text) const {
  std::vector<std::int32_t> tokens;
  tokens.reserve(text.size());
  if (kind_ == TokenKind::kBytes) {
    for (const char byte : text) tokens.push_back(static_cast<unsigned char>(byte));
    return tokens;
  }
  for_each_character(text, [&](std::string_view character) {
    const auto found = numbers_.find(character);
    if (found == numbers_.end()) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("The character '{}' does not occur in the text that the model knows: leave it out, or "
                              "train with --tokens bytes.",
                              printable(character)));
    }
    tokens.push_back(found->second);
  });
  return tokens;
}

std::string Vocabulary::decode(const std::vector<std::int32_t>& tokens) const {
  std::string text;
  for (const std::int32_t token : tokens) text += symbols_.at(static_cast<std::size_t>(token));
  return text;
}

}  // namespace lockstep::lab
