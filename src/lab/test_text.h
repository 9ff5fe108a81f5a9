#pragma once

#include "base/atomic_file.h"
#include "lab/refusal_for_tests.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// A test with a folder of its own, in it a small text, `text.txt`, and the arguments of a training that takes no time.
class TextTest : public testing::Test {
 protected:
  TextTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-lab-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
    std::string text;
    for (int i = 0; i < 40; ++i) text += "the quick brown fox jumps over the lazy dog\n";
    write_file_atomically(folder_ / "text.txt", text);
  }
  ~TextTest() override { std::filesystem::remove_all(folder_); }

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--data",       (folder_ / "text.txt").string(),
                                    "--out",        (folder_ / "out").string(),
                                    "--layers",     "1",
                                    "--heads",      "2",
                                    "--width",      "16",
                                    "--context",    "8",
                                    "--batch",      "6",
                                    "--iterations", "8"};
    all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::lab
