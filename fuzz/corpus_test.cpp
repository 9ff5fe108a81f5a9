// Every text that fuzzing ever found worth keeping, with any compiler.
#include "base/atomic_file.h"
#include "fuzz/schedule_target.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace lockstep {

TEST(Corpus, OfSchedulesIsReadOrRefused) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOCKSTEP_FUZZ_CORPUS "/schedule")) {
    SCOPED_TRACE(entry.path());
    fuzz::read_prove_and_draw(read_file(entry.path()));
    ++files;
  }
  EXPECT_GT(files, 10);
}

}  // namespace lockstep
