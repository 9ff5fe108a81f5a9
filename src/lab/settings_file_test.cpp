#include "lab/settings_file.h"

#include "lab/refusal_for_tests.h"
#include "lab/text/settings_json.h"
#include "lab/text/test_text.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

class SettingsFile : public TextTest {};

TEST_F(SettingsFile, AreDescribedInFull) {
  TextSettings settings;
  settings.data = {"a.txt"};
  const auto pairs = describe_settings(settings);
  EXPECT_THAT(pairs, testing::Contains(testing::Pair("batch", "12")));
  EXPECT_THAT(pairs, testing::Contains(testing::Pair("width", "128")));
  EXPECT_THAT(pairs, testing::Contains(testing::Pair("data", "[\"a.txt\"]")));
}

TEST_F(SettingsFile, ComeBackAsTheyWere) {
  const OutputOptions output{.out = folder_.string()};
  const nlohmann::json settings = {{"batch", 7}, {"recipe", {{"seed", 3}}}};
  write_settings(output, settings);
  EXPECT_EQ(read_settings(folder_), settings);
}

TEST_F(SettingsFile, ThatAreNotThereOrDamagedAreRefusedByName) {
  EXPECT_THAT(refusal_of([&] { read_settings(folder_); }), HasSubstr("is not the folder of a run"));
  write_file_atomically(folder_ / "settings.json", "{\"batch\": ");
  EXPECT_THAT(refusal_of([&] { read_settings(folder_); }), HasSubstr("settings.json: it is damaged"));
}

}  // namespace lockstep::lab
