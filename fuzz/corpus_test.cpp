// Every text that fuzzing ever found worth keeping, with any compiler.
#include "base/atomic_file.h"
#include "fuzz/safetensors_target.h"
#include "fuzz/schedule_target.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string_view>

namespace lockstep {

namespace {

void for_each_text_of(const char* corpus, void (*read)(std::string_view)) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(LOCKSTEP_FUZZ_CORPUS) / corpus)) {
    SCOPED_TRACE(entry.path());
    read(read_file(entry.path()));
    ++files;
  }
  EXPECT_GT(files, 10);
}

}  // namespace

TEST(Corpus, OfSchedulesIsReadOrRefused) { for_each_text_of("schedule", fuzz::read_prove_and_draw); }

TEST(Corpus, OfSafetensorsIsReadOrRefused) { for_each_text_of("safetensors", fuzz::read_and_write_header); }

}  // namespace lockstep
