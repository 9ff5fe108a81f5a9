#pragma once

#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace lockstep::testing_support {

/// A test with a folder of its own, gone when the test is over.
class TemporaryFolder : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const std::string& content, std::filesystem::perms permissions) {
    std::ofstream(folder_ / name) << content;
    std::filesystem::permissions(folder_ / name, permissions);
    return folder_ / name;
  }
  static std::string read(const std::filesystem::path& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

 private:
  const ScratchFolder scratch_;

 protected:
  const std::filesystem::path& folder_ = scratch_.path();
};

}  // namespace lockstep::testing_support
