#include "transport/shm/shared_mapping.h"

#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <unistd.h>

namespace lockstep::shm {

TEST(SharedMapping, TwoMappingsAreOneMemory) {
  const auto made = SharedMapping::create("lockstep-test", 8192);
  const auto attached = SharedMapping::attach(FileDescriptor(::dup(made.file())), 8192);
  ASSERT_NE(made.data(), attached.data());
  made.data()[8191] = std::byte{42};
  EXPECT_EQ(attached.data()[8191], std::byte{42});
  EXPECT_LT(attached.file(), 0) << "there may be many peers and groups, and few descriptors";
}

TEST(SharedMapping, NobodyCanShrinkIt) {
  const auto made = SharedMapping::create("lockstep-test", 8192);
  EXPECT_NE(::ftruncate(made.file(), 0), 0);
}

TEST(SharedMapping, RefusesMemoryThatCouldShrinkOrHasAnotherSize) {
  const auto made = SharedMapping::create("lockstep-test", 8192);
  EXPECT_THROW(SharedMapping::attach(FileDescriptor(::dup(made.file())), 4096), Error);
  FileDescriptor unsealed(::memfd_create("lockstep-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), 8192), 0);
  EXPECT_THROW(SharedMapping::attach(std::move(unsealed), 8192), Error);
}

}  // namespace lockstep::shm
