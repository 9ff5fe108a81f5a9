// PyTorch's wheels export what they hold of a libstdc++ of their own, all of std::filesystem. A program that takes that
// for the system's mixes two releases of it, which need not agree on what lies in memory.
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <filesystem>

namespace lockstep {

TEST(StandardLibrary, IsTheSystemsAndNothingOfWhatLibtorchBrings) {
  const auto function = static_cast<bool (*)(const std::filesystem::path&)>(&std::filesystem::create_directory);
  Dl_info found{};
  ASSERT_NE(::dladdr(reinterpret_cast<void*>(function), &found), 0);
  EXPECT_THAT(found.dli_fname, testing::HasSubstr("/libstdc++.so"));
}

}  // namespace lockstep
