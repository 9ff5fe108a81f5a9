#include "lab/utf8.h"

namespace lockstep::lab {

namespace {

/// The sequence's length and the bounds of its second byte, by its first byte.
struct Lead {
  std::size_t length;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};

Lead lead_of(unsigned char first) {
  if (first < 0x80) return {1};
  if (first < 0xC2) return {0};
  if (first < 0xE0) return {2};
  if (first == 0xE0) return {3, 0xA0};
  if (first == 0xED) return {3, 0x80, 0x9F};
  if (first < 0xF0) return {3};
  if (first == 0xF0) return {4, 0x90};
  if (first < 0xF4) return {4};
  if (first == 0xF4) return {4, 0x80, 0x8F};
  return {0};
}

bool is_control(std::string_view symbol) {
  const auto first = static_cast<unsigned char>(symbol[0]);
  if (symbol.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  return symbol.size() == 2 && first == 0xC2 && static_cast<unsigned char>(symbol[1]) < 0xA0;
}

}  // namespace

std::size_t utf8_length(std::string_view text, std::size_t position) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[position + i]); };
  const Lead lead = lead_of(byte(0));
  if (lead.length == 0 || position + lead.length > text.size()) return 0;
  if (lead.length > 1 && (byte(1) < lead.low || byte(1) > lead.high)) return 0;
  for (std::size_t i = 2; i < lead.length; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  }
  return lead.length;
}

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t position = 0; position < text.size();) {
    const std::size_t length = utf8_length(text, position);
    const std::string_view symbol = text.substr(position, length);
    if (length == 0 || is_control(symbol)) {
      shown += "\uFFFD";
    } else {
      shown += symbol;
    }
    position += length == 0 ? 1 : length;
  }
  return shown;
}

}  // namespace lockstep::lab
