#include "transport/tcp/hmac.h"

#include "transport/tcp/hmac_for_tests.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <cstring>
#include <string>

namespace lockstep::tcp {

namespace {

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

TEST(Hmac, DependsOnTheSecretAndTheText) {
  if (!hmac_is_built_in()) {
    EXPECT_THROW(hmac(Secret(), bytes_of("a")), Error);
    return;
  }
  const Secret secret = Secret::make();
  const Digest digest = hmac(secret, bytes_of("a"));
  EXPECT_TRUE(same(digest, hmac(secret, bytes_of("a"))));
  EXPECT_FALSE(same(digest, hmac(secret, bytes_of("b"))));
  EXPECT_FALSE(same(digest, hmac(Secret::make(), bytes_of("a"))));
}

/// HMAC-SHA256 of nothing under a key of 32 zero bytes (zeros pad a key, so the empty key gives the same: RFC 2104).
TEST_F(WithHmac, IsTheOneOfTheStandard) {
  const Digest expected{0xb6, 0x13, 0x67, 0x9a, 0x08, 0x14, 0xd9, 0xec, 0x77, 0x2f, 0x95, 0xd7, 0x78, 0xc3, 0x5f, 0xc5,
                        0xff, 0x16, 0x97, 0xc4, 0x93, 0x71, 0x56, 0x53, 0xc6, 0xc7, 0x12, 0x14, 0x42, 0x92, 0xc5, 0xad};
  EXPECT_EQ(hmac(Secret(), {}), expected);
}

}  // namespace lockstep::tcp
