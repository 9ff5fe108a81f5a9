#pragma once

#include "base/atomic_file.h"
#include "base/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

namespace lockstep::lab {

/// A test with a folder of its own, which goes with it.
class FolderTest : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& content) const {
    write_file_atomically(folder_ / name, content);
  }

 private:
  const ScratchFolder scratch_;

 protected:
  const std::filesystem::path& folder_ = scratch_.path();
};

}  // namespace lockstep::lab
