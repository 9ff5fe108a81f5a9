#include "lab/digits/idx_file.h"

#include "lab/digits/test_digits.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

class IdxFileTest : public DigitsTest {
 protected:
  std::string refused(const std::string& content, int dimensions = 1) const {
    write("file", content);
    return refusal_of([&] { read_idx(folder_ / "file", dimensions); });
  }
};

TEST_F(IdxFileTest, IsReadGzippedOrNot) {
  const std::string content = idx({2, 3}, std::string("\x01\x02\x03\x04\x05\xff", 6));
  write("plain", content);
  write_gzipped("packed.gz", content);
  for (const char* name : {"plain", "packed.gz"}) {
    const torch::Tensor values = read_idx(folder_ / name, 2);
    EXPECT_EQ(values.sizes(), torch::IntArrayRef({2, 3}));
    EXPECT_EQ(values[1][0].item<int>(), 4);
    EXPECT_EQ(values[1][2].item<int>(), 255);
  }
}

TEST_F(IdxFileTest, ThatIsWrongIsRefusedByName) {
  const std::string good = idx({3}, "abc");
  EXPECT_THAT(refusal_of([&] { read_idx(folder_ / "none", 1); }), HasSubstr("none: it cannot be read: No such file"));
  EXPECT_THAT(refused(""), HasSubstr("file: it is cut short or damaged"));
  EXPECT_THAT(refused("text, not numbers"), HasSubstr("it does not begin with two zero bytes"));
  EXPECT_THAT(refused(std::string("\0\0\x0d\x01", 4) + good.substr(4)), HasSubstr("of type 0x0d"));
  EXPECT_THAT(refusal_of([&] { read_idx(folder_ / "data", 1); }), HasSubstr("data: it cannot be read: Is a directory"));
  EXPECT_THAT(refused(good, 3), HasSubstr("it has 1 dimension, and 3 are needed"));
  EXPECT_THAT(refused(idx({1, 3}, "abc")), HasSubstr("it has 2 dimensions, and 1 is needed"));
  EXPECT_THAT(refused(good.substr(0, good.size() - 1)), HasSubstr("it is cut short or damaged"));
  EXPECT_THAT(refused(good + "d"), HasSubstr("it goes on after its last value"));
  EXPECT_THAT(refused(idx({0}, "")), HasSubstr("a dimension of 0 cannot be"));
  EXPECT_THAT(refused(idx({70000, 60000}, ""), 2), HasSubstr("a dimension of 60000 cannot be"));
}

TEST_F(IdxFileTest, ThatIsGzippedAndDamagedIsRefused) {
  write_gzipped("packed.gz", idx({300}, std::string(300, 'x')));
  const std::string packed = read_file(folder_ / "packed.gz");
  write("packed.gz", packed.substr(0, packed.size() / 2));
  EXPECT_THAT(refusal_of([&] { read_idx(folder_ / "packed.gz", 1); }), HasSubstr("cut short or damaged"));
  write("packed.gz", packed.substr(0, packed.size() - 5));
  EXPECT_THAT(refusal_of([&] { read_idx(folder_ / "packed.gz", 1); }), HasSubstr("cut short at its very end"));
  std::string flipped = packed;
  flipped[flipped.size() - 8] ^= 1;  // its checksum
  write("packed.gz", flipped);
  EXPECT_THAT(refusal_of([&] { read_idx(folder_ / "packed.gz", 1); }), HasSubstr("damaged"));
}

}  // namespace lockstep::lab
