#include "lab/text/vocabulary.h"

#include "lab/refusal_for_tests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace lockstep::lab {

TEST(Vocabulary, NumbersCharactersInTheOrderOfTheirCodePoints) {
  const Vocabulary vocabulary(TokenKind::kCharacters, "b\u20aca\u00e9b\n");
  EXPECT_EQ(vocabulary.alphabet(), "\nab\u00e9\u20ac");
  EXPECT_EQ(vocabulary.size(), 5);
  EXPECT_THAT(vocabulary.encode("\u20acab"), testing::ElementsAre(4, 1, 2));
  EXPECT_EQ(vocabulary.decode({4, 1, 2}), "\u20acab");
}

TEST(Vocabulary, OfItsAlphabetIsTheSame) {
  const Vocabulary vocabulary(TokenKind::kCharacters, "hello, world");
  EXPECT_EQ(Vocabulary(TokenKind::kCharacters, vocabulary.alphabet()).alphabet(), vocabulary.alphabet());
}

TEST(Vocabulary, BytesTakeAnyText) {
  const Vocabulary vocabulary(TokenKind::kBytes, "");
  EXPECT_EQ(vocabulary.size(), 256);
  EXPECT_EQ(vocabulary.alphabet(), "");
  const std::string text(
      "\0\xFF"
      "a",
      3);
  EXPECT_THAT(vocabulary.encode(text), testing::ElementsAre(0, 255, 'a'));
  EXPECT_EQ(vocabulary.decode(vocabulary.encode(text)), text);
}

TEST(Vocabulary, RefusesWhatItDoesNotKnow) {
  EXPECT_THAT(refusal_of([] { Vocabulary(TokenKind::kCharacters, "ab\xFF"); }),
              testing::HasSubstr("not UTF-8 at byte 2"));
  const Vocabulary vocabulary(TokenKind::kCharacters, "ab");
  EXPECT_THAT(refusal_of([&] { vocabulary.encode("abc"); }), testing::HasSubstr("'c' does not occur"));
  EXPECT_THAT(refusal_of([] { parse_token_kind("char"); }), testing::HasSubstr("Did you mean 'chars'?"));
}

}  // namespace lockstep::lab
