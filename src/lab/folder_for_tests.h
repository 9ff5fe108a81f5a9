#pragma once

#include "base/atomic_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace lockstep::lab {

/// A test with a folder of its own, which goes with it.
class FolderTest : public testing::Test {
 protected:
  FolderTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "lockstep-lab-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~FolderTest() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& name, const std::string& content) const {
    write_file_atomically(folder_ / name, content);
  }

  std::filesystem::path folder_;
};

}  // namespace lockstep::lab
