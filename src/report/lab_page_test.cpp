#include "report/lab_page.h"

#include "base/atomic_file.h"
#include "report/lab_example.h"
#include "tests/processes/temporary_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include <limits>
#include <nlohmann/json.hpp>

namespace lockstep {

using nlohmann::json;
using testing::HasSubstr;

class LabPageFile : public testing_support::TemporaryFolder {
 protected:
  json data(const LabPage& page) const {
    write_lab_page(page, folder_ / "lab.html");
    const std::string text = read_file(folder_ / "lab.html"), open = R"(<script type="application/json" id="data">)";
    const std::size_t begin = text.find(open) + open.size();
    return json::parse(text.substr(begin, text.find("</script>", begin) - begin));
  }
};

TEST_F(LabPageFile, HoldsWhatItIsGiven) {
  const json data = this->data(example_lab());
  EXPECT_EQ(data["title"], "All-reduce on 4 ranks");
  EXPECT_EQ(data["paragraphs"], (json{"What was done.", "What is seen."}));
  EXPECT_EQ(data["charts"][0]["curves"][0]["measured"].size(), 9u);
  EXPECT_EQ(data["charts"][0]["curves"][1]["predicted"].size(), 17u);
  EXPECT_EQ(data["charts"][0]["log_x"], true);
  EXPECT_EQ(data["charts"][1]["log_x"], false);
  EXPECT_EQ(data["bars"][0]["rows"][1], (json{{"kind", "gathered"}, {"predicted", 1 << 20}, {"measured", 5 << 18}}));
  EXPECT_EQ(data["tables"][0]["rows"][0], (json{"ring", "5.4 %"}));
}

TEST_F(LabPageFile, PointsAreInOrderAndNumbers) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const LabPage page{"t", "", {}, {{"c", {"x"}, {"y"}, {{"a", {{3, 1}, {1, 2}, {2, nan}, {nan, 1}}}}}}};
  EXPECT_EQ(data(page)["charts"][0]["curves"][0]["measured"], json::parse("[[1.0, 2.0], [3.0, 1.0]]"));
}

TEST_F(LabPageFile, ARowOfAnotherLengthIsRefusedAndNothingIsWritten) {
  LabPage page = example_lab();
  page.tables[0].rows.push_back({"tree"});
  try {
    write_lab_page(page, folder_ / "lab.html");
    FAIL() << "wrote a table with a short row";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), HasSubstr("A row of the table \"Errors\" has 1 cells, but the table has 2 columns"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "lab.html"));
}

TEST_F(LabPageFile, AFolderThatIsNotThereIsAnError) {
  EXPECT_THROW(write_lab_page(example_lab(), folder_ / "missing" / "lab.html"), Error);
}

}  // namespace lockstep
