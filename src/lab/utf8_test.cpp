#include "lab/utf8.h"

#include <gtest/gtest.h>

namespace lockstep::lab {

TEST(Utf8, MeasuresWellFormedSequences) {
  const std::string text = "a\u00e9\u20ac\U0001F600";
  EXPECT_EQ(utf8_length(text, 0), 1U);
  EXPECT_EQ(utf8_length(text, 1), 2U);
  EXPECT_EQ(utf8_length(text, 3), 3U);
  EXPECT_EQ(utf8_length(text, 6), 4U);
}

TEST(Utf8, RefusesWhatIsNot) {
  EXPECT_EQ(utf8_length("\x80", 0), 0U) << "a continuation byte alone";
  EXPECT_EQ(utf8_length("\xC0\x80", 0), 0U) << "an overlong form";
  EXPECT_EQ(utf8_length("\xE0\x80\x80", 0), 0U) << "an overlong form";
  EXPECT_EQ(utf8_length("\xED\xA0\x80", 0), 0U) << "a surrogate";
  EXPECT_EQ(utf8_length("\xF4\x90\x80\x80", 0), 0U) << "beyond U+10FFFF";
  EXPECT_EQ(utf8_length("\xE2\x82", 0), 0U) << "cut short";
  EXPECT_EQ(utf8_length("\xE2\x82z", 0), 0U) << "a wrong third byte";
  EXPECT_EQ(utf8_length("\xFF", 0), 0U);
}

TEST(Utf8, ShowsNothingThatATerminalWouldObey) {
  EXPECT_EQ(printable("a\n\tb\u00e9"), "a\n\tb\u00e9");
  EXPECT_EQ(printable("\x1b[2J\x7f"), "\uFFFD[2J\uFFFD");
  EXPECT_EQ(printable("\xC2\x9B\xFF."), "\uFFFD\uFFFD.");
}

}  // namespace lockstep::lab
