#include "base/file_descriptor.h"

#include "base/child_for_tests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <optional>
#include <string>
#include <utility>

namespace lockstep {

namespace {

using testing_support::said_in_child;

FileDescriptor open_file() { return FileDescriptor(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC)); }

/// "a file", "/dev/null", "closed".
const char* what_is(int fd) {
  struct stat found {};
  if (::fstat(fd, &found) != 0) return "closed";
  return S_ISCHR(found.st_mode) && found.st_rdev == ::makedev(1, 3) ? "/dev/null" : "a file";
}

std::optional<std::string> what_a_child_has_of(int fd) {
  return said_in_child([fd] { return what_is(fd); });
}

}  // namespace

TEST(FileDescriptor, ClosesWhatItHolds) {
  FileDescriptor file = open_file();
  const int number = file.get();
  EXPECT_STREQ(what_is(number), "a file");
  file = FileDescriptor();
  EXPECT_STREQ(what_is(number), "closed");
  EXPECT_FALSE(file);
}

TEST(FileDescriptor, AChildHasItsCopyOfWhatIsNotKeptFromIt) {
  const FileDescriptor file = open_file();
  EXPECT_EQ(what_a_child_has_of(file.get()), "a file");
}

/// Whoever owns it by then, in the child's child too, and no longer than it is open.
TEST(FileDescriptor, AChildHasNothingOfWhatIsKeptFromIt) {
  FileDescriptor first = open_file();
  FileDescriptor second = open_file();
  first.keep_from_children();
  first.keep_from_children();
  second.keep_from_children();
  FileDescriptor moved(std::move(first));
  EXPECT_EQ(what_a_child_has_of(moved.get()), "/dev/null");
  EXPECT_EQ(what_a_child_has_of(second.get()), "/dev/null");
  EXPECT_EQ(said_in_child([&] { return what_a_child_has_of(moved.get()).value(); }), "/dev/null");
  EXPECT_STREQ(what_is(moved.get()), "a file");

  const int number = second.get();
  second = std::move(moved);
  const FileDescriptor next = open_file();
  ASSERT_EQ(next.get(), number) << "the lowest that is free";
  EXPECT_EQ(what_a_child_has_of(number), "a file");
  EXPECT_EQ(what_a_child_has_of(second.get()), "/dev/null");
}

/// As destructors of what it shares with its parent do, when it ends.
TEST(FileDescriptor, AChildClosesNothingElseWithIt) {
  FileDescriptor file = open_file();
  file.keep_from_children();
  EXPECT_EQ(said_in_child([&] {
              const FileDescriptor the_childs = open_file();
              file.reset();
              return what_is(the_childs.get());
            }),
            "a file");
}

}  // namespace lockstep
