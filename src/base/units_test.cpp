#include "base/units.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

TEST(Units, SizesAsPeopleTypeThem) {
  EXPECT_EQ(parse_bytes("512"), 512U);
  EXPECT_EQ(parse_bytes("64KiB"), 65536U);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1572864U);
  EXPECT_EQ(parse_bytes("1GB"), 1000000000U);
}

TEST(Units, TimesAsPeopleTypeThem) {
  EXPECT_EQ(parse_duration("5us").count(), 5000);
  EXPECT_EQ(parse_duration("1.5s").count(), 1500000000);
}

TEST(Units, RefusesWhatIsNoSizeOrTime) {
  for (const char* text : {"", "KiB", "-1KiB", "64 parsecs", "1e400", "nan", "99999999999GiB"}) {
    EXPECT_THROW(parse_bytes(text), Error) << text;
  }
  EXPECT_THROW(parse_duration("5"), Error);
}

TEST(Units, PrintsForPeople) {
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1572864), "1.50 MiB");
  EXPECT_EQ(format_wait(std::chrono::seconds(125)), "2m 05s");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(12), "12");
}

TEST(Units, CountsThings) {
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1, "step"), "1 step");
}

}  // namespace lockstep
