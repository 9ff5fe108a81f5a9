#include "lab/sst2/words.h"

#include <unicode/uchar.h>
#include <unicode/unorm2.h>
#include <unicode/utf16.h>
#include <unicode/utf8.h>

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <cstdint>

namespace lockstep::lab {

namespace {

/// Controls, formats, surrogates and private code points; unassigned ones are kept.
bool is_other(UChar32 code) {
  constexpr std::uint32_t kOther = U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CS_MASK | U_GC_CO_MASK;
  return (U_GET_GC_MASK(code) & kOther) != 0;
}

bool is_white_space(UChar32 code) { return u_isUWhiteSpace(code) != 0; }

bool is_dropped(UChar32 code) {
  return code == 0 || code == 0xFFFD || (code != '\t' && code != '\n' && code != '\r' && is_other(code));
}

/// Of Unicode's categories P, and of ASCII all that is neither letter, digit nor space.
bool is_punctuation(UChar32 code) {
  if (code < 0x80) return code > 0x20 && code < 0x7F && u_isalnum(code) == 0;
  return (U_GET_GC_MASK(code) & U_GC_P_MASK) != 0;
}

/// The blocks of unified and compatibility ideographs that BERT names; of extension E, Hugging Face's tokenizer leaves
/// out the first 256, and so does this one.
bool is_ideograph(UChar32 code) {
  struct Block {
    UChar32 first;
    UChar32 last;
  };
  constexpr std::array<Block, 8> kBlocks{{{0x3400, 0x4DBF},
                                          {0x4E00, 0x9FFF},
                                          {0xF900, 0xFAFF},
                                          {0x20000, 0x2A6DF},
                                          {0x2A700, 0x2B73F},
                                          {0x2B740, 0x2B81F},
                                          {0x2B920, 0x2CEAF},
                                          {0x2F800, 0x2FA1F}}};
  return std::any_of(kBlocks.begin(), kBlocks.end(),
                     [code](const Block& block) { return block.first <= code && code <= block.last; });
}

void append(std::u16string& text, UChar32 code) {
  if (code > 0xFFFF) {
    text += static_cast<char16_t>(U16_LEAD(code));
    text += static_cast<char16_t>(U16_TRAIL(code));
  } else {
    text += static_cast<char16_t>(code);
  }
}

void append(std::string& text, UChar32 code) {
  std::array<char, U8_MAX_LENGTH> bytes{};
  std::int32_t length = 0;
  U8_APPEND_UNSAFE(bytes.data(), length, code);
  text.append(bytes.data(), static_cast<std::size_t>(length));
}

std::u16string decomposed(const std::u16string& text) {
  UErrorCode status = U_ZERO_ERROR;
  const UNormalizer2* const nfd = unorm2_getNFDInstance(&status);
  std::u16string result(text.size() * 2 + 16, u'\0');
  const auto run = [&] {
    status = U_ZERO_ERROR;
    return unorm2_normalize(nfd, text.data(), static_cast<std::int32_t>(text.size()), result.data(),
                            static_cast<std::int32_t>(result.size()), &status);
  };
  std::int32_t length = run();
  if (status == U_BUFFER_OVERFLOW_ERROR) {
    result.resize(static_cast<std::size_t>(length));
    length = run();
  }
  if (U_FAILURE(status)) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("ICU cannot decompose a text: {}.", u_errorName(status)));
  }
  result.resize(static_cast<std::size_t>(length));
  return result;
}

/// Words as they come, character by character.
class Words {
 public:
  explicit Words(std::string& text) : text_(text) {}
  void end_word() {
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
  }
  void add(UChar32 code) { append(text_, code); }

 private:
  std::string& text_;
};

}  // namespace

std::string WordSplitter::words(std::string_view text) const {
  std::string result;
  result.reserve(text.size() + text.size() / 4);
  if (splits_as_ascii(text, result)) return result;
  result.clear();
  const std::u16string normal = normalised(text);
  Words words(result);
  for (std::size_t at = 0; at < normal.size();) {
    UChar32 code = 0;
    U16_NEXT(normal.data(), at, normal.size(), code);
    if (is_white_space(code)) {
      words.end_word();
    } else if (is_punctuation(code)) {
      words.end_word();
      words.add(code);
      words.end_word();
    } else {
      words.add(code);
    }
  }
  words.end_word();
  return result;
}

std::string WordSplitter::uncut(std::string_view text) const {
  const std::u16string normal = normalised(text);
  std::string result;
  for (std::size_t at = 0; at < normal.size();) {
    UChar32 code = 0;
    U16_NEXT(normal.data(), at, normal.size(), code);
    append(result, code);
  }
  return result;
}

std::u16string WordSplitter::normalised(std::string_view text) const {
  std::u16string clean;
  clean.reserve(text.size() + 16);
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t at = 0; at < text.size();) {
    UChar32 code = 0;
    U8_NEXT_OR_FFFD(bytes, at, text.size(), code);
    if (rules_.clean_text && is_dropped(code)) continue;
    const bool alone = rules_.handle_chinese_chars && is_ideograph(code);
    if (alone) clean += u' ';
    append(clean, rules_.clean_text && is_white_space(code) ? ' ' : code);
    if (alone) clean += u' ';
  }
  if (rules_.strip_accents) clean = decomposed(clean);
  if (!rules_.strip_accents && !rules_.lowercase) return clean;
  std::u16string result;
  result.reserve(clean.size());
  for (std::size_t at = 0; at < clean.size();) {
    UChar32 code = 0;
    U16_NEXT(clean.data(), at, clean.size(), code);
    if (rules_.strip_accents && u_charType(code) == U_NON_SPACING_MARK) continue;
    append(result, rules_.lowercase ? u_tolower(code) : code);
  }
  return result;
}

/// The same for a text that is ASCII, which most are; false, and anything in `words`, if it is not.
bool WordSplitter::splits_as_ascii(std::string_view text, std::string& words) const {
  const auto end_word = [&words] {
    if (!words.empty() && words.back() != '\n') words += '\n';
  };
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) return false;
    const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
    if (letter || (byte >= '0' && byte <= '9')) {
      words += rules_.lowercase && byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + ('a' - 'A')) : c;
    } else if (byte == ' ' || (byte >= '\t' && byte <= '\r')) {
      // Vertical tab and form feed are controls that cleaning drops.
      if (rules_.clean_text && (byte == '\v' || byte == '\f')) continue;
      end_word();
    } else if (byte > ' ' && byte < 0x7F) {
      end_word();
      words += c;
      words += '\n';
    } else if (!rules_.clean_text) {
      words += c;
    }
  }
  end_word();
  return true;
}

}  // namespace lockstep::lab
