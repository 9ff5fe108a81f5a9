#pragma once

#include "lab/folder_for_tests.h"
#include "lab/refusal_for_tests.h"

#include <filesystem>
#include <string>
#include <vector>

namespace lockstep::lab {

/// A test with a folder of its own, in it a small text, `text.txt`, and the arguments of a training that takes no time.
class TextTest : public FolderTest {
 protected:
  TextTest() {
    std::string text;
    for (int i = 0; i < 40; ++i) text += "the quick brown fox jumps over the lazy dog\n";
    write("text.txt", text);
  }
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
};

}  // namespace lockstep::lab
