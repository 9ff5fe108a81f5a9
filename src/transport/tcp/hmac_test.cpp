#include "transport/tcp/hmac.h"

#include "base/environment.h"
#include "base/file_descriptor.h"
#include "transport/tcp/hmac_for_tests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

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

/// Under the key of the bytes 1 to 32.
TEST_F(WithHmac, AllOfTheSecretCounts) {
  const FileDescriptor file(::memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  std::array<unsigned char, Secret::kBytes> bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  ASSERT_EQ(::write(file.get(), bytes.data(), bytes.size()), std::ssize(bytes));
  ASSERT_EQ(::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE), 0) << "as the launcher's is";
  const auto secret = Secret::find([&](const char* name) {
    return name == std::string_view(kSecretDescriptorVariable) ? std::optional(std::to_string(file.get()))
                                                               : std::nullopt;
  });
  const Digest expected{0xd1, 0x8d, 0x48, 0xb4, 0xc3, 0x84, 0x04, 0x8f, 0x38, 0x13, 0x52, 0x3a, 0x60, 0xc8, 0x73, 0x46,
                        0xaf, 0x6a, 0x27, 0xce, 0x00, 0x9c, 0x17, 0x11, 0x2d, 0x31, 0x72, 0x03, 0x19, 0xa2, 0x3b, 0x87};
  EXPECT_EQ(hmac(secret.value(), bytes_of("what is proved")), expected);
}

TEST_F(WithHmac, AllOfAProofIsCompared) {
  const Digest proof = hmac(Secret(), {});
  for (std::size_t i = 0; i < proof.size(); ++i) {
    Digest other = proof;
    other[i] ^= 1U;
    EXPECT_FALSE(same(proof, other)) << i;
  }
}

}  // namespace lockstep::tcp
