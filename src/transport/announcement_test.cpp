#include "transport/announcement.h"

#include <gtest/gtest.h>

#include <cstring>
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

/// A peer's, off the wire: the undefined-behaviour sanitizer looks on.
TEST(Announcement, OfAnyBytesIsDescribed) {
  Announcement garbled;
  std::memset(static_cast<void*>(&garbled), 0xff, sizeof garbled);
  garbled.algorithm.back() = '\0';
  EXPECT_NE(garbled.describe(), "");
  EXPECT_NE(garbled.describe(), Announcement().describe());
}

}  // namespace lockstep
