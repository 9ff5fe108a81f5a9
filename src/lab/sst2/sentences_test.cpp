#include "lab/sst2/sentences.h"

#include "lab/refusal_for_tests.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

namespace lockstep::lab {
namespace {

using testing::HasSubstr;

class Sst2File : public testing_support::TemporaryFolder {
 protected:
  std::filesystem::path write(const std::string& content) const {
    std::ofstream(folder_ / "train.tsv", std::ios::binary) << content;
    return folder_ / "train.tsv";
  }
  std::string refusal(const std::string& content) const {
    const auto file = write(content);
    const std::string text = refusal_of([&] { read_sst2(file); });
    EXPECT_THAT(text, HasSubstr(file.string()));
    return text;
  }
};

TEST_F(Sst2File, GivesSentencesAndLabels) {
  const auto sentences = read_sst2(write("sentence\tlabel\nhide new secretions \t0\ncaf\xC3\xA9\t1"));
  ASSERT_EQ(sentences.size(), 2U);
  EXPECT_EQ(sentences[0].text, "hide new secretions ");
  EXPECT_EQ(sentences[0].label, 0);
  EXPECT_EQ(sentences[1].text, "caf\xC3\xA9");
  EXPECT_EQ(sentences[1].label, 1);
}

TEST_F(Sst2File, MayBeginWithAByteOrderMark) {
  const auto sentences = read_sst2(write("\xEF\xBB\xBFsentence\tlabel\ngood\t1\n"));
  ASSERT_EQ(sentences.size(), 1U);
  EXPECT_EQ(sentences[0].text, "good");
  EXPECT_THAT(refusal("\xEF\xBB\xBFsentence\tlabel\ngood\n"), HasSubstr("line 2: there is no label"));
}

TEST_F(Sst2File, RefusesWhatIsWrongWithItsLine) {
  const std::string header = "sentence\tlabel\n";
  EXPECT_THAT(refusal("label\tsentence\n"), HasSubstr("line 1: the header must be"));
  EXPECT_THAT(refusal("sentence\tlabel\r\ngood\t1\r\n"), HasSubstr("line 1: it ends in CRLF"));
  EXPECT_THAT(refusal(header + "good\t1\r\n"), HasSubstr("line 2: it ends in CRLF"));
  EXPECT_THAT(refusal(header + "good\t1\nbad\n"), HasSubstr("line 3: there is no label"));
  EXPECT_THAT(refusal(header + "good\t1\t2\n"), HasSubstr("line 2: there are more"));
  EXPECT_THAT(refusal(header + "good\tgreat\n"), HasSubstr("line 2: the label must be 0 or 1; it is 'great'"));
  EXPECT_THAT(refusal(header + "good\t-1\n"), HasSubstr("it is '-1'"));
  EXPECT_THAT(refusal(header + "1\t" + std::string(999, 'x') + "\n"),
              HasSubstr("it is '" + std::string(60, 'x') + "'"));
  EXPECT_THAT(refusal(header + "good\t1\n\t0\n"), HasSubstr("line 3: there is no sentence before the tab"));
  EXPECT_THAT(refusal(header + "go\xFFod\t1\n"), HasSubstr("line 2: byte 3 is not UTF-8"));
  EXPECT_THAT(refusal(header + "good\t1\n\nbad\t0\n"), HasSubstr("line 3: it is empty"));
  EXPECT_THAT(refusal(header), HasSubstr("holds no sentences"));
  EXPECT_THAT(refusal(""), HasSubstr("holds no sentences"));
  EXPECT_THAT(refusal_of([&] { read_sst2(folder_ / "absent.tsv"); }), HasSubstr("absent.tsv"));
}

}  // namespace
}  // namespace lockstep::lab
