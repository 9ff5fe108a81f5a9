#include "transport/announcement.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <string>

namespace lockstep {

TEST(Announcement, NamesThatAreTooLongEndInADigest) {
  Announcement announcement;
  announcement.name_algorithm(std::string(42, 'x'));
  EXPECT_EQ(announcement.algorithm_name(), std::string(42, 'x'));
  announcement.name_algorithm("ring");
  EXPECT_EQ(announcement.algorithm_name(), "ring");
  announcement.name_algorithm("segmented:2:hierarchical:halving_doubling,ring");
  const std::string ring(announcement.algorithm_name());
  const auto fingerprint = fingerprint_of(announcement);
  EXPECT_EQ(ring.substr(0, 34), "segmented:2:hierarchical:halving_~") << ring;
  announcement.name_algorithm("segmented:2:hierarchical:halving_doubling,tree");
  EXPECT_NE(announcement.algorithm_name(), ring);
  EXPECT_NE(fingerprint_of(announcement), fingerprint);
}

TEST(Announcement, TheFirstOfTheLastSevenThatDifferedIsFound) {
  Announcement one;
  Announcement other;
  one.sequence = other.sequence = 20;
  one.recent = other.recent = 0x1122334455667788;
  EXPECT_EQ(disagreed_before(one, other), std::nullopt);
  other.recent ^= 0x01;
  EXPECT_EQ(disagreed_before(one, other), 19U);
  other.recent ^= 0x10000;
  EXPECT_EQ(disagreed_before(one, other), 17U);
  other.recent ^= std::uint64_t{1} << 48U;
  EXPECT_EQ(disagreed_before(one, other), 13U);
  other.recent = one.recent ^ std::uint64_t{1} << 56U;
  EXPECT_EQ(disagreed_before(one, other), std::nullopt) << "of that one no rank has kept what it asked for";
  other.recent = one.recent ^ 0xff00;
  one.sequence = other.sequence = 2;
  EXPECT_EQ(disagreed_before(one, other), std::nullopt) << "there was one only";
}

TEST(Announcement, RanksThatHaveDisagreedDifferEverAfter) {
  std::uint64_t one = fingerprint_behind(0, 1);
  std::uint64_t other = fingerprint_behind(0, 2);
  for (int operation = 0; operation < 1000; ++operation) {
    one = fingerprint_behind(one, 3);
    other = fingerprint_behind(other, 3);
    EXPECT_NE(one, other);
  }
}

/// A peer's, off the wire: the undefined-behaviour sanitizer looks on.
TEST(Announcement, OfAnyBytesIsDescribed) {
  Announcement garbled;
  std::memset(static_cast<void*>(&garbled), 0xff, sizeof garbled);
  garbled.algorithm.back() = '\0';
  EXPECT_NE(garbled.describe(), "");
  EXPECT_NE(garbled.describe(), Announcement().describe());
}

}  // namespace lockstep
