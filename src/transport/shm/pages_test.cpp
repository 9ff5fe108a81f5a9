#include "transport/shm/pages.h"

#include "transport/shm/arena.h"
#include "transport/shm/shared_mapping.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <string_view>

namespace lockstep::shm {

namespace {

constexpr std::size_t kMebi = std::size_t{1} << 20;

/// Bytes of the mapping that begins here which huge pages back, by /proc/self/smaps.
std::size_t huge_bytes_at(const std::byte* data) {
  std::ifstream maps("/proc/self/smaps");
  bool is_it = false;
  constexpr std::string_view kHuge = "ShmemPmdMapped:";
  for (std::string line; std::getline(maps, line);) {
    if (line.find('-') < line.find(' ')) {
      is_it = std::stoull(line, nullptr, 16) == reinterpret_cast<std::uintptr_t>(data);
    } else if (is_it && line.starts_with(kHuge)) {
      return std::stoull(line.substr(kHuge.size())) * 1024;
    }
  }
  ADD_FAILURE() << "/proc/self/smaps has no such mapping, or does not say how much of it is in huge pages";
  return 0;
}

/// Why the system makes no huge page of shared memory, whatever pages.cpp does; empty if it makes one.
std::string why_none_here() {
  constexpr int kCollapse = 25;
  const FileDescriptor file(::memfd_create("lockstep-test", MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), kHugePage) != 0) return std::strerror(errno);
  void* const room = ::mmap(nullptr, 2 * kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return std::strerror(errno);
  std::byte* const page = static_cast<std::byte*>(room) + bytes_before_huge(room);
  const bool is_mapped =
      ::mmap(page, kHugePage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file.get(), 0) != MAP_FAILED;
  if (is_mapped) *page = std::byte{1};
  const bool is_huge = is_mapped && ::madvise(page, kHugePage, kCollapse) == 0;
  const std::string why = is_huge ? "" : std::strerror(errno);
  ::munmap(room, 2 * kHugePage);
  return why;
}

class HugePages : public testing::Test {
 protected:
  void SetUp() override {
    const std::string why = why_none_here();
    if (!why.empty()) GTEST_SKIP() << "this system makes no huge pages of shared memory: " << why;
  }
};

}  // namespace

TEST_F(HugePages, KeepWhatIsThereForAllWhoMapIt) {
  const auto made = SharedMapping::create("lockstep-test", 8 * kMebi);
  const auto attached = SharedMapping::attach(FileDescriptor(::dup(made.file())), 8 * kMebi);
  std::memset(attached.data(), 7, 8 * kMebi);
  populate(made.data(), 8 * kMebi);
  for (std::size_t at = 0; at < 8 * kMebi; at += kPage) {
    ASSERT_EQ(made.data()[at], std::byte{7}) << at;
    ASSERT_EQ(attached.data()[at], std::byte{7}) << at;
  }
  EXPECT_EQ(huge_bytes_at(made.data()), 8 * kMebi);
  EXPECT_EQ(huge_bytes_at(attached.data()), 8 * kMebi);
}

TEST_F(HugePages, AreThoseOfWhichAllIsAskedFor) {
  const auto huge_of = [](std::size_t from, std::size_t to) {
    const auto made = SharedMapping::create("lockstep-test", 8 * kMebi);
    populate(made.data() + from, to - from);
    return huge_bytes_at(made.data()) / kHugePage;
  };
  EXPECT_EQ(huge_of(0, 2 * kMebi - kPage), 0U);
  EXPECT_EQ(huge_of(0, 2 * kMebi), 1U);
  EXPECT_EQ(huge_of(kPage, 4 * kMebi), 1U);
  EXPECT_EQ(huge_of(kPage, 4 * kMebi - kPage), 0U);
  EXPECT_EQ(huge_of(kMebi, 8 * kMebi), 3U);
}

TEST_F(HugePages, AreWhatLargeRegisteredMemoryIsMadeOfAndGoBack) {
  const auto arena = Arena::create(64 * kMebi, /*rank=*/3);
  auto held = arena->allocate(10 * kMebi);
  EXPECT_GE(huge_bytes_at(arena->mapping().data()), 8 * kMebi);
  std::memset(held.get(), 7, 10 * kMebi);
  held.reset();
  struct stat file {};
  ASSERT_EQ(::fstat(arena->mapping().file(), &file), 0);
  EXPECT_EQ(file.st_blocks, 0);
  EXPECT_EQ(*static_cast<char*>(arena->allocate(10 * kMebi).get()), 0);
}

TEST(HugePagesOfRanks, BeginAtOtherPlaces) {
  std::set<std::size_t> places;
  for (int rank = 0; rank < 512; ++rank) {
    const auto arena = Arena::create(64 * kMebi, rank);
    const auto held = arena->allocate(1);
    places.insert(*arena->offset_of(held.get(), 1));
  }
  EXPECT_EQ(places.size(), 512U);
  EXPECT_LT(*places.rbegin(), kHugePage);
}

TEST(HugePagesOfRanks, LeaveASmallArenaWhole) {
  const auto arena = Arena::create(kMebi, /*rank=*/3);
  EXPECT_NE(arena->allocate(kMebi), nullptr);
}

}  // namespace lockstep::shm
