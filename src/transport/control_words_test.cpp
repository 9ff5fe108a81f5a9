#include "transport/control_words.h"

#include <gtest/gtest.h>

#include <array>
#include <string_view>

namespace lockstep {

TEST(ControlWords, AFailureIsAboutWhomItNamesElseAboutWhoSaysIt) {
  constexpr std::string_view kText("the disk is full\0rest", 21);
  const auto code = static_cast<std::uint32_t>(ErrorCode::kIo);
  const Error named = failure_told_by(2, code, 7, kText);
  EXPECT_EQ(named.peer(), 7);
  EXPECT_EQ(named.code(), ErrorCode::kIo);
  EXPECT_STREQ(named.what(), "the disk is full");
  EXPECT_EQ(failure_told_by(2, code, 0, kText).peer(), 0);
  EXPECT_EQ(failure_told_by(2, code, -1, kText).peer(), 2);
}

TEST(ControlWords, ATextWithoutAnEndIsReadToItsRoomsEnd) {
  const std::array text{'c', 'u', 't', ' ', 'o', 'f', 'f'};
  EXPECT_STREQ(failure_told_by(2, 0, -1, text).what(), "cut off");
}

TEST(ControlWords, ACodeOfNoErrorIsTheTransports) {
  constexpr auto kLast = static_cast<std::uint32_t>(ErrorCode::kNonFinite);
  EXPECT_EQ(failure_told_by(2, kLast, -1, {}).code(), ErrorCode::kNonFinite);
  EXPECT_EQ(failure_told_by(2, kLast + 1, -1, {}).code(), ErrorCode::kTransport);
  EXPECT_FALSE(known_code(static_cast<std::uint32_t>(-1)));
}

}  // namespace lockstep
