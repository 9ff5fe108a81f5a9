#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::lab {

/// What a token is: a Unicode code point that occurs in the text, or one of the 256 bytes.
enum class TokenKind : std::uint8_t { kCharacters, kBytes };

/// "chars" and "bytes", as --tokens takes them.
std::string_view to_string(TokenKind kind);
/// Throws Error (kInvalidArgument).
TokenKind parse_token_kind(std::string_view name);

/// The tokens of a text, numbered from 0. Characters are numbered in the order of their code points, so the same text
/// always gives the same numbers.
class Vocabulary {
 public:
  /// The vocabulary of `text`. Throws Error (kInvalidArgument) for characters of a text that is not UTF-8.
  Vocabulary(TokenKind kind, std::string_view text);

  TokenKind kind() const { return kind_; }
  std::int64_t size() const { return static_cast<std::int64_t>(symbols_.size()); }
  /// All characters once, in order; empty for bytes. A vocabulary of this text is equal to this one.
  std::string alphabet() const;

  /// Throws Error (kInvalidArgument) naming the first character that is not in the vocabulary.
  std::vector<std::int32_t> encode(std::string_view text) const;
  std::string decode(const std::vector<std::int32_t>& tokens) const;

 private:
  TokenKind kind_;
  std::vector<std::string> symbols_;
  std::map<std::string, std::int32_t, std::less<>> numbers_;
};

}  // namespace lockstep::lab
