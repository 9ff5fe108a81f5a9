#include "transport/shm/shared_mapping.h"

#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"
#include "transport/shm/pages.h"

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

TEST(SharedMapping, BeginsAtAHugePageWhereOneHasRoom) {
  const auto made = SharedMapping::create("lockstep-test", 3 * kHugePage / 2);
  const auto attached = SharedMapping::attach(FileDescriptor(::dup(made.file())), 3 * kHugePage / 2);
  EXPECT_EQ(bytes_before_huge(made.data()), 0U);
  EXPECT_EQ(bytes_before_huge(attached.data()), 0U);
}

TEST(SharedMapping, NobodyCanShrinkIt) {
  const auto made = SharedMapping::create("lockstep-test", 8192);
  EXPECT_NE(::ftruncate(made.file(), 0), 0);
}

TEST(SharedMapping, RefusesMemoryThatCouldShrinkOrHasAnotherSize) {
  const auto made = SharedMapping::create("lockstep-test", 8192);
  const auto is_refused =
      testing_support::refuses(ErrorCode::kTransport, "of another size than it said, or not sealed");
  EXPECT_THAT([&] { SharedMapping::attach(FileDescriptor(::dup(made.file())), 4096); }, is_refused);
  FileDescriptor unsealed(::memfd_create("lockstep-test", MFD_CLOEXEC));
  ASSERT_EQ(::ftruncate(unsealed.get(), 8192), 0);
  EXPECT_THAT([&] { SharedMapping::attach(std::move(unsealed), 8192); }, is_refused);
}

/// The system would end the process.
TEST(SharedMapping, IsNoLargerThanAFileMayBe) {
  const testing_support::Limit largest_file(RLIMIT_FSIZE, 4096);
  EXPECT_THAT([] { SharedMapping::create("lockstep-test", 8192); },
              testing_support::refuses(ErrorCode::kTransport,
                                       "No file may be larger than 4096 bytes here (ulimit -f), and memory to share is "
                                       "one of 8192."));
  EXPECT_NO_THROW(SharedMapping::create("lockstep-test", 4096));
}

TEST(SharedMapping, WhatTheSystemRefusesIsSaid) {
  using testing_support::refuses;
  EXPECT_THAT([] { SharedMapping::attach(FileDescriptor(), 8192); },
              refuses(ErrorCode::kTransport, "Looking at a peer's memory (fstat) failed: Bad file descriptor"));
  EXPECT_THAT([] { SharedMapping::create("lockstep-test", std::size_t{1} << 63U); },
              refuses(ErrorCode::kTransport, "Sizing shared memory (ftruncate) failed"));
  EXPECT_THAT([] { SharedMapping::create("lockstep-test", std::size_t{1} << 50U); },
              refuses(ErrorCode::kTransport, "Mapping shared memory (mmap) failed: Cannot allocate memory"));
}

}  // namespace lockstep::shm
