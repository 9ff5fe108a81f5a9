#include "train/checkpoint/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include "train/checkpoint/checksum.h"

namespace lockstep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Manifest example() {
  return {.iteration = 12,
          .shards = {{"shard-00000-of-00002.safetensors", 1000, "0000abcd"},
                     {"shard-00001-of-00002.safetensors", 8, "12345678"}},
          .values = {{"loader.epoch", "3"}, {"optimizer.group0.lr", "0.001"}}};
}

std::string refusal(const std::string& text) {
  try {
    parse_manifest(text, "some/manifest.json");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("some/manifest.json"));
    return error.what();
  }
  return "accepted";
}

TEST(Checksum, IsThatOfZip) {
  EXPECT_EQ(checksum("123456789"), "cbf43926");  // the check value that catalogues of CRCs give
  EXPECT_EQ(checksum(""), "00000000");
}

TEST(Manifest, IsReadAsItWasWritten) {
  const Manifest read = parse_manifest(to_text(example()), "m");
  EXPECT_EQ(read.iteration, 12);
  ASSERT_EQ(read.shards.size(), 2u);
  EXPECT_EQ(read.shards[1].file, example().shards[1].file);
  EXPECT_EQ(read.shards[0].bytes, 1000u);
  EXPECT_EQ(read.shards[1].header_checksum, "12345678");
  EXPECT_EQ(read.values, example().values);
}

TEST(Manifest, AnyChangeIsNoticed) {
  const std::string whole = to_text(example());
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    if (whole[at] == ' ' || whole[at] == '\n') continue;  // between the words anything is allowed that is still JSON
    EXPECT_NE(refusal(damaged), "accepted") << "byte " << at;
    EXPECT_NE(refusal(whole.substr(0, at)), "accepted") << "cut at " << at;
  }
}

TEST(Manifest, NamesNoFileElsewhere) {
  for (const char* name : {"../shard", "/etc/passwd", "", ".."}) {
    Manifest manifest = example();
    manifest.shards[0].file = name;
    EXPECT_THAT(refusal(to_text(manifest)), HasSubstr("a file elsewhere")) << name;
  }
  EXPECT_THAT(refusal(to_text({.iteration = 1})), HasSubstr("no files"));
}

}  // namespace
}  // namespace lockstep
