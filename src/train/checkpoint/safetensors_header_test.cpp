#include "train/checkpoint/safetensors_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include "fuzz/safetensors_target.h"

namespace lockstep::safetensors {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

/// A file with this header and so many bytes behind it.
std::string file_of(const std::string& header, std::size_t data_bytes) {
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return file + header + std::string(data_bytes, '\1');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string refusal(const std::string& file) {
  try {
    parse_header(file, "some.safetensors");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("some.safetensors"));
    return error.what();
  }
  return "accepted";
}

TEST(SafetensorsHeader, ReadsTensorsInTheOrderOfTheirBytes) {
  const auto header =
      parse_header(file_of("{" + entry("z", "F32", "[2]", "[4,12]") + "," + entry("a", "I8", "[2,2]", "[0,4]") +
                               R"(,"__metadata__":{"format":"pt"}})",
                           12),
                   "f");
  ASSERT_EQ(header.entries.size(), 2u);
  EXPECT_EQ(header.entries[0].name, "a");
  EXPECT_THAT(header.entries[0].shape, ElementsAre(2, 2));
  EXPECT_EQ(header.entries[1].dtype, "F32");
  EXPECT_EQ(header.entries[1].end, 12u);
  EXPECT_THAT(header.metadata, ElementsAre(Pair("format", "pt")));
}

TEST(SafetensorsHeader, ReadsWhatItWrites) {
  const std::vector<Entry> entries{
      {"w\"\n\u00e9", "BF16", {3, 2}, 0, 12}, {"none", "U8", {0}, 12, 12}, {"s", "BOOL", {}, 12, 13}};
  const std::string bytes = format_header(entries, {{"key", "value"}});
  EXPECT_EQ(bytes.size() % 8, 0u);
  const Header header = parse_header(bytes + std::string(13, 'x'), "f");
  ASSERT_EQ(header.entries.size(), 3u);
  EXPECT_EQ(header.entries[0].name, entries[0].name);
  EXPECT_EQ(header.entries[1].shape, entries[1].shape);
  EXPECT_EQ(header.data_offset, bytes.size());
  EXPECT_THAT(header.metadata, ElementsAre(Pair("key", "value")));
}

TEST(SafetensorsHeader, LengthIsCheckedBeforeAnythingElse) {
  EXPECT_THAT(refusal(""), HasSubstr("HeaderTooSmall"));
  EXPECT_THAT(refusal("1234567"), HasSubstr("HeaderTooSmall"));
  EXPECT_THAT(refusal(std::string(8, '\xff')), HasSubstr("HeaderTooLarge"));
  EXPECT_THAT(refusal(std::string("\x01\xe1\xf5\x05\0\0\0\0{}", 10)), HasSubstr("HeaderTooLarge"));  // 100,000,001
  EXPECT_THAT(refusal(std::string("\x00\xe1\xf5\x05\0\0\0\0{}", 10)), HasSubstr("InvalidHeaderLength"));
  EXPECT_THAT(refusal(file_of("{}", 0).substr(0, 9)), HasSubstr("InvalidHeaderLength"));
  EXPECT_THAT(refusal(std::string(8, '\0')), HasSubstr("InvalidHeaderDeserialization"));
}

TEST(SafetensorsHeader, IsJsonInUtf8AndNothingBehindIt) {
  EXPECT_EQ(refusal(file_of(" \n{} \t", 0)), "accepted");
  for (const char* header : {"{", "[]", "3", "{}{}", R"({"a":})", "nan"})
    EXPECT_THAT(refusal(file_of(header, 0)), HasSubstr("InvalidHeaderDeserialization")) << header;
  EXPECT_THAT(refusal(file_of("{\"\xff\xfe\":{}}", 0)), HasSubstr("(InvalidHeader): its header is not UTF-8"));
}

TEST(SafetensorsHeader, KeysDoNotComeTwice) {
  const std::string one = entry("w", "U8", "[1]", "[0,1]");
  EXPECT_THAT(refusal(file_of("{" + one + "," + one + "}", 1)), HasSubstr("has the key 'w' twice"));
  EXPECT_THAT(refusal(file_of(R"({"__metadata__":{"a":"1","a":"2"}})", 0)), HasSubstr("has the key 'a' twice"));
  EXPECT_THAT(refusal(file_of(R"({"w":{"dtype":"U8","shape":[1],"shape":[2],"data_offsets":[0,1]}})", 1)),
              HasSubstr("has the key 'shape' twice"));
  // The same key in two objects, one after the other, is no repetition.
  EXPECT_EQ(refusal(file_of("{" + one + "," + entry("v", "U8", "[1]", "[1,2]") + "}", 2)), "accepted");
}

TEST(SafetensorsHeader, DoesNotNestDeeply) {
  EXPECT_THAT(refusal(file_of(R"({"w":)" + std::string(100000, '[') + std::string(100000, ']') + "}", 0)),
              HasSubstr("nests deeper"));
}

TEST(SafetensorsHeader, EveryFieldHasItsType) {
  const auto wrong = [](const std::string& text) { return refusal(file_of("{" + text + "}", 4)); };
  EXPECT_THAT(wrong(R"("w":3)"), HasSubstr("tensor 'w' is not described"));
  EXPECT_THAT(wrong(R"("w":{"shape":[],"data_offsets":[0,4]})"), HasSubstr("has no dtype"));
  EXPECT_THAT(wrong(entry("w", "F33", "[1]", "[0,4]")), HasSubstr("the dtype 'F33'"));
  for (const char* shape : {"4", "[-1]", "[1.5]", "[\"4\"]", "[18446744073709551616]", "[true]", "[[1]]"})
    EXPECT_THAT(wrong(entry("w", "F32", shape, "[0,4]")), HasSubstr("'shape'")) << shape;
  EXPECT_THAT(wrong(entry("w", "F32", "[1]", "[0]")), HasSubstr("two data_offsets"));
  EXPECT_THAT(wrong(entry("w", "F32", "[1]", "[-4,0]")), HasSubstr("'data_offsets'"));
  EXPECT_THAT(wrong(R"("__metadata__":{"a":1})"), HasSubstr("'a' in its __metadata__"));
  EXPECT_THAT(wrong(R"("__metadata__":[])"), HasSubstr("__metadata__ is not an object"));
}

TEST(SafetensorsHeader, TensorsFillTheData) {
  const auto two = [](const std::string& a, const std::string& b, std::size_t bytes) {
    return refusal(file_of("{" + entry("a", "U8", "[4]", a) + "," + entry("b", "U8", "[4]", b) + "}", bytes));
  };
  EXPECT_EQ(two("[0,4]", "[4,8]", 8), "accepted");
  EXPECT_THAT(two("[0,4]", "[2,6]", 6), AllOf(HasSubstr("InvalidOffset"), HasSubstr("tensor 'b'"))) << "overlap";
  EXPECT_THAT(two("[0,4]", "[0,4]", 4), HasSubstr("InvalidOffset")) << "the same bytes twice";
  EXPECT_THAT(two("[0,4]", "[5,9]", 9), HasSubstr("InvalidOffset")) << "a hole";
  EXPECT_THAT(two("[1,5]", "[5,9]", 9), HasSubstr("InvalidOffset")) << "a hole at the start";
  EXPECT_THAT(two("[0,4]", "[8,4]", 8), HasSubstr("InvalidOffset")) << "backwards";
  EXPECT_THAT(two("[0,4]", "[4,8]", 9), HasSubstr("MetadataIncompleteBuffer")) << "trailing bytes";
  EXPECT_THAT(two("[0,4]", "[4,8]", 7), HasSubstr("MetadataIncompleteBuffer")) << "cut short";
}

TEST(SafetensorsHeader, ShapeAndTypeSayTheBytes) {
  const auto one = [](const std::string& dtype, const std::string& shape, std::size_t bytes) {
    return refusal(file_of("{" + entry("w", dtype, shape, "[0," + std::to_string(bytes) + "]") + "}", bytes));
  };
  EXPECT_EQ(one("C64", "[2]", 16), "accepted");
  EXPECT_EQ(one("F4", "[2]", 1), "accepted");
  EXPECT_EQ(one("F32", "[]", 4), "accepted");
  EXPECT_THAT(one("F4", "[3]", 2), HasSubstr("MisalignedSlice"));
  EXPECT_THAT(one("F32", "[2]", 4), HasSubstr("TensorInvalidInfo"));
  EXPECT_THAT(one("F32", "[4294967296,4294967296,2]", 4), HasSubstr("ValidationOverflow"));
  EXPECT_THAT(one("F32", "[4294967296,4294967296,0]", 0), HasSubstr("ValidationOverflow"));
  EXPECT_THAT(one("F64", "[2305843009213693952]", 0), HasSubstr("ValidationOverflow")) << "2^67 bits";
}

TEST(SafetensorsHeader, NamesThatAreNotUtf8AreNotWritten) {
  EXPECT_THROW(format_header({{"\xff", "U8", {}, 0, 1}}, {}), Error);
  EXPECT_THROW(format_header({}, {{"key", "\xff"}}), Error);
}

TEST(SafetensorsHeader, EveryDamagedByteIsReadOrRefused) {
  const std::string whole =
      file_of("{" + entry("a", "U8", "[4]", "[0,4]") + "," + entry("b", "F32", "[1,2]", "[4,12]") + "}", 12);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ 1 << bit);
      fuzz::read_and_write_header(damaged);  // ends the process where a promise does not hold
    }
    fuzz::read_and_write_header(whole.substr(0, at));
  }
}

}  // namespace
}  // namespace lockstep::safetensors
