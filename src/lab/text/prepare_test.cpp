#include "lab/text/test_text.h"
#include "lab/text/training.h"

#include <gmock/gmock.h>

namespace lockstep::lab {

using testing::HasSubstr;

class Prepare : public TextTest {
 protected:
  std::string refused(const std::vector<std::string>& more) const {
    return refusal_of([&] { prepare_text(arguments(more)); });
  }
  std::string refused_data(const std::string& content) const {
    write_file_atomically(folder_ / "text.txt", content);
    return refused({});
  }
};

TEST_F(Prepare, ReadsAllThatATrainingNeeds) {
  const TextTask task = prepare_text(arguments({"--prompt", "fox"}));
  EXPECT_EQ(task.vocabulary.size(), 28);  // 26 letters, space, newline
  EXPECT_EQ(task.options.settings.model.vocabulary, 28);
  EXPECT_EQ(task.data.training.size() + task.data.validation.size(), 40U * 44U);
  EXPECT_EQ(task.vocabulary.decode(task.prompt), "fox");
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out")) << "nothing is written before all ranks have read their input";
  EXPECT_FALSE(task.checkpoint);
}

TEST_F(Prepare, APromptIsANewlineOrTheFirstToken) {
  EXPECT_EQ(prepare_text(arguments()).vocabulary.decode(prepare_text(arguments()).prompt), "\n");
  write_file_atomically(folder_ / "text.txt", std::string(200, 'b') + "a");
  EXPECT_THAT(prepare_text(arguments()).prompt, testing::ElementsAre(0));
  EXPECT_THAT(prepare_text(arguments({"--tokens", "bytes"})).prompt, testing::ElementsAre('\n'));
}

TEST_F(Prepare, TextThatCannotServeIsRefused) {
  EXPECT_THAT(refused_data(""), HasSubstr("is empty"));
  EXPECT_THAT(refused_data("too short"), HasSubstr("too short"));
  EXPECT_THAT(refused_data(std::string(500, 'a') + "\xFF"), HasSubstr("--tokens bytes"));
  std::filesystem::remove(folder_ / "text.txt");
  EXPECT_THAT(refused({}), HasSubstr("There is no file"));
}

TEST_F(Prepare, RefusesAPromptThatTheTextDoesNotKnow) {
  EXPECT_THAT(refused({"--prompt", "FOX"}), HasSubstr("'F' does not occur"));
}

TEST_F(Prepare, RefusesAFolderThatCannotBeMade) {
  const std::string file = (folder_ / "text.txt").string();
  EXPECT_THAT(refused({"--out", file}), HasSubstr("--out " + file + " cannot be written: Not a directory"));
  EXPECT_THAT(refused({"--out", file + "/below"}), HasSubstr("Not a directory"));
}

TEST_F(Prepare, RefusesWhatNoTrainingCanBe) { EXPECT_THAT(refused({"--heads", "3"}), HasSubstr("does not divide")); }

TEST_F(Prepare, RefusesACheckpointThatIsNotThere) {
  EXPECT_THAT(refused({"--resume", (folder_ / "none.pt").string()}), HasSubstr("No such file"));
}

}  // namespace lockstep::lab
