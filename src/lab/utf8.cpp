#include "lab/utf8.h"

#include <unicode/utf8.h>

#include <cstdint>

namespace lockstep::lab {

namespace {

struct Symbol {
  UChar32 code = U_SENTINEL;  ///< negative where the bytes are no well-formed UTF-8
  std::size_t length = 0;
};

Symbol symbol_at(std::string_view text, std::size_t position) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  std::size_t next = position;
  Symbol symbol;
  U8_NEXT(bytes, next, text.size(), symbol.code);
  symbol.length = next - position;
  return symbol;
}

bool is_control(UChar32 code) { return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7F && code < 0xA0); }

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t position) {
  const Symbol symbol = symbol_at(text, position);
  return symbol.code < 0 ? 0 : symbol.length;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const Symbol symbol = symbol_at(text, position);
    // ICU passes over an ill-formed sequence whole; we mark each of its bytes, as the vocabulary counts them.
    const bool whole = symbol.code >= 0;
    shown += whole && !is_control(symbol.code) ? text.substr(position, symbol.length) : std::string_view("\uFFFD");
    position += whole ? symbol.length : 1;
  }
  return shown;
}

}  // namespace lockstep::lab
