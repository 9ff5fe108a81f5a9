#include "transport/shm/letterbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <thread>
#include <vector>

namespace lockstep::shm {

namespace {

std::vector<std::byte> message(std::size_t bytes, std::uint64_t salt) {
  std::vector<std::byte> text(bytes);
  for (std::size_t i = 0; i < bytes; ++i) text[i] = static_cast<std::byte>(i * 7 + salt);
  return text;
}

}  // namespace

TEST(Letterbox, ALetterIsReadByItsStampAndByNoOther) {
  Letterbox box;
  std::vector<std::byte> read(Letterbox::kBytes);
  for (const std::size_t bytes : {0U, 1U, 55U, 56U, 57U, 112U, 1063U, 1064U}) {
    const auto sent = message(bytes, bytes);
    const std::uint64_t stamp = 1000 + bytes;
    EXPECT_FALSE(box.read(bytes, stamp, read.data(), bytes)) << bytes;
    box.write(bytes, stamp, sent.data(), bytes);
    EXPECT_FALSE(box.read(bytes, stamp + 1, read.data(), bytes)) << bytes;
    ASSERT_TRUE(box.read(bytes, stamp, read.data(), bytes)) << bytes;
    EXPECT_TRUE(std::equal(sent.begin(), sent.end(), read.begin())) << bytes;
  }
}

TEST(Letterbox, TheNextLetterLeavesTheOneBeforeReadable) {
  Letterbox box;
  std::vector<std::byte> read(Letterbox::kBytes);
  for (std::uint64_t number = 1; number < 5; ++number) {
    const auto sent = message(200, number);
    box.write(number, number, sent.data(), sent.size());
    if (number == 1) continue;
    ASSERT_TRUE(box.read(number - 1, number - 1, read.data(), 200));
    const auto expected = message(200, number - 1);
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(), read.begin()));
  }
}

/// As much as is there of one that is being written.
TEST(Letterbox, ALetterIsReadOnceAllOfItsLinesAreThere) {
  Letterbox box;
  std::vector<std::byte> read(Letterbox::kBytes);
  const auto sent = message(Letterbox::kBytes, 1);
  for (std::size_t lines = 1; lines < Letterbox::kLines; ++lines) {
    const std::size_t there = lines * Letterbox::kLinePayload;
    box.write(1, 1, sent.data(), there);
    EXPECT_TRUE(box.read(1, 1, read.data(), there)) << lines;
    EXPECT_FALSE(box.read(1, 1, read.data(), there + 1)) << lines;
  }
}

/// What is read is whole, however the two meet.
TEST(Letterbox, TwoThreadsExchangeLetters) {
  constexpr std::uint64_t kRounds = 2000;
  const auto boxes = std::make_unique<std::array<Letterbox, 2>>();
  const auto exchange = [&](std::size_t self) {
    std::vector<std::byte> read(Letterbox::kBytes);
    for (std::uint64_t number = 1; number <= kRounds; ++number) {
      const std::size_t bytes = number % (Letterbox::kBytes + 1);
      const auto sent = message(bytes, number + self);
      (*boxes)[self].write(number, number, sent.data(), bytes);
      while (!(*boxes)[1 - self].read(number, number, read.data(), bytes)) std::this_thread::yield();
      const auto expected = message(bytes, number + 1 - self);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), read.begin())) << number;
    }
  };
  std::jthread other([&] { exchange(1); });
  exchange(0);
}

}  // namespace lockstep::shm
