#include "transport/announcement.h"

#include <gtest/gtest.h>

#include <cstring>

namespace lockstep {

/// A peer's, off the wire: the undefined-behaviour sanitizer looks on.
TEST(Announcement, OfAnyBytesIsDescribed) {
  Announcement garbled;
  std::memset(static_cast<void*>(&garbled), 0xff, sizeof garbled);
  garbled.algorithm.back() = '\0';
  EXPECT_NE(garbled.describe(), "");
  EXPECT_NE(garbled.describe(), Announcement().describe());
}

}  // namespace lockstep
