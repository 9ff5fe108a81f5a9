#include "base/units.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

namespace lockstep {

TEST(Units, SizesAsPeopleTypeThem) {
  EXPECT_EQ(parse_bytes("512"), 512U);
  EXPECT_EQ(parse_bytes("64KiB"), 65536U);
  EXPECT_EQ(parse_bytes("1.5 MiB"), 1572864U);
  EXPECT_EQ(parse_bytes("1GB"), 1000000000U);
  EXPECT_EQ(parse_bytes("1.1GB"), 1100000000U);
  EXPECT_EQ(parse_bytes("1TB"), 1000000000000U);
  EXPECT_EQ(parse_bytes("0.3GB"), 300000000U);
}

TEST(Units, TimesAsPeopleTypeThem) {
  EXPECT_EQ(parse_duration("5us").count(), 5000);
  EXPECT_EQ(parse_duration("1.5s").count(), 1500000000);
}

TEST(Units, RefusesWhatIsNoSizeOrTime) {
  for (const char* text :
       {"", "KiB", "-1KiB", "64 parsecs", "1e400", "nan", "99999999999GiB", "1.5", "0.5B", "1.0001KiB"}) {
    EXPECT_THROW(parse_bytes(text), Error) << text;
  }
  EXPECT_THROW(parse_duration("5"), Error);
}

TEST(Units, PrintsForPeople) {
  EXPECT_EQ(format_bytes(12), "12 B");
  EXPECT_EQ(format_bytes(65536), "64 KiB");
  EXPECT_EQ(format_bytes(1572864), "1.50 MiB");
  EXPECT_EQ(format_rounded_bytes(11.7), "12 B");
  EXPECT_EQ(format_rounded_bytes(0x1p65), "33554432 TiB");
  EXPECT_EQ(format_wait(std::chrono::seconds(125)), "2m 05s");
  EXPECT_EQ(format_count(1234567), "1,234,567");
  EXPECT_EQ(format_count(12), "12");
}

TEST(Units, ReadsWhatNetworksCost) {
  EXPECT_DOUBLE_EQ(parse_seconds("0.25ns"), 0.25e-9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("10GB/s"), 1e10);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Gbit/s"), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_bandwidth("100Gbps"), 12.5e9);
  EXPECT_DOUBLE_EQ(parse_seconds_per_byte("0.1ns/B"), 1e-10);
  for (const char* text : {"0GB/s", "10", "10GB", "-1GB/s", "infGB/s", "1e-319GB/s"})
    EXPECT_THROW(parse_bandwidth(text), Error) << text;
  EXPECT_THROW(parse_seconds("5"), Error);
  EXPECT_THROW(parse_seconds_per_byte("5ns"), Error);
}

TEST(Units, PrintsSecondsInThreeDigits) {
  EXPECT_EQ(format_seconds(0), "0 ns");
  EXPECT_EQ(format_seconds(1.234e-9), "1.23 ns");
  EXPECT_EQ(format_seconds(12.34e-6), "12.3 us");
  EXPECT_EQ(format_seconds(999.4e-6), "999 us");
  EXPECT_EQ(format_seconds(999.6e-6), "1.00 ms");
  EXPECT_EQ(format_seconds(2), "2.00 s");
}

TEST(Units, CountsThings) {
  EXPECT_EQ(counted(0, "step"), "0 steps");
  EXPECT_EQ(counted(1, "step"), "1 step");
}

}  // namespace lockstep
