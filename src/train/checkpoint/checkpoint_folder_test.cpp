#include "train/checkpoint/checkpoint_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>

#include "base/atomic_file.h"
#include "tests/processes/temporary_folder.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class Folder : public testing_support::TemporaryFolder {
 protected:
  Folder() : checkpoints_(folder_ / "a" / "b") { checkpoints_.create(); }
  void make(std::int64_t iteration, const std::string& content) {
    checkpoints_.begin(iteration);
    write_file_atomically(checkpoints_.partial_path(iteration) / "file", content);
    checkpoints_.finish(iteration);
  }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(checkpoints_.path()), fs::directory_iterator());
  }
  CheckpointFolder checkpoints_;
};

TEST_F(Folder, HoldsWhatIsFinished) {
  EXPECT_THAT(checkpoints_.iterations(), IsEmpty());
  make(100, "x");
  make(20, "x");
  make(123456789012, "x");
  checkpoints_.begin(101);
  fs::create_directory(checkpoints_.path() / "iteration-5");  // somebody else's
  EXPECT_THAT(checkpoints_.iterations(), ElementsAre(20, 100, 123456789012));
}

TEST_F(Folder, AnUnfinishedOneGoesWithTheNextBegin) {
  checkpoints_.begin(1);
  write_file_atomically(checkpoints_.partial_path(1) / "file", "x");
  checkpoints_.begin(2);
  EXPECT_EQ(entries(), 1);
  checkpoints_.discard(2);
  EXPECT_EQ(entries(), 0);
}

TEST_F(Folder, TheSameIterationAgainReplacesTheOlder) {
  make(7, "old");
  make(7, "new");
  EXPECT_EQ(read_file(checkpoints_.path(7) / "file"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Folder, OneIsReplacedInTwoStepsWhereNamesCannotBeExchanged) {
  make(7, "old");
  checkpoints_.begin(7);
  write_file_atomically(checkpoints_.partial_path(7) / "file", "new");
  checkpoints_.replace(7);
  EXPECT_EQ(read_file(checkpoints_.path(7) / "file"), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(Folder, PruningKeepsTheNewest) {
  for (const int iteration : {1, 2, 3, 4}) make(iteration, "x");
  checkpoints_.prune(2, 4);
  EXPECT_THAT(checkpoints_.iterations(), ElementsAre(3, 4));
  EXPECT_EQ(entries(), 2);
  checkpoints_.prune(5, 4);
  EXPECT_EQ(entries(), 2);
}

TEST_F(Folder, PruningLeavesLaterOnesAlone) {
  for (const int iteration : {1000, 2000, 3000, 90, 95, 100}) make(iteration, "x");
  checkpoints_.prune(2, 100);
  EXPECT_THAT(checkpoints_.iterations(), ElementsAre(95, 100, 1000, 2000, 3000)) << "of a run that was before";
}

TEST_F(Folder, SaysWhatCannotBe) {
  write_file_atomically(folder_ / "file", "x");
  EXPECT_THROW(CheckpointFolder(folder_ / "file" / "a").create(), Error);
  EXPECT_THROW(CheckpointFolder(folder_ / "missing").begin(1), Error);
  EXPECT_THROW(CheckpointFolder(folder_ / "missing").iterations(), Error);
  EXPECT_THROW(checkpoints_.finish(3), Error) << "never begun";
}

}  // namespace
}  // namespace lockstep
