#include "base/standard_streams.h"

#include "base/child_for_tests.h"
#include "base/terminal_for_tests.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>

namespace lockstep {

using testing_support::said_in_child;

namespace {

/// Without descriptors 0, 1 and 2, as `program <&- >&- 2>&-` starts.
bool close_standard_descriptors() {
  return ::close(STDIN_FILENO) == 0 && ::close(STDOUT_FILENO) == 0 && ::close(STDERR_FILENO) == 0;
}

}  // namespace

TEST(StandardStreams, WhatIsMissingIsNobodysNumberAndTakesNothing) {
  const auto said = said_in_child(close_standard_descriptors, [] {
    ensure_standard_descriptors();
    const FileDescriptor file(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    char byte = 'x';
    std::string words = file.get() > STDERR_FILENO ? "above" : "among them";
    words += ::read(STDIN_FILENO, &byte, 1) == 0 ? ", empty" : ", not empty";
    for (const int output : {STDOUT_FILENO, STDERR_FILENO}) {
      words += ::write(output, &byte, 1) < 0 && errno == EBADF ? ", refused" : ", taken";
    }
    return words;
  });
  EXPECT_EQ(said.value_or("nothing"), "above, empty, refused, refused");
}

TEST(StandardStreams, WhatIsThereStays) {
  const int before = ::dup(STDERR_FILENO);
  ASSERT_GE(before, 0);
  ::close(before);
  ensure_standard_descriptors();
  const FileDescriptor after(::dup(STDERR_FILENO));
  EXPECT_EQ(after.get(), before) << "nothing is left open";
}

TEST(StandardStreams, AnErrorThatNobodyCanReadIsNoOther) {
  const auto said = said_in_child(close_standard_descriptors, [] {
    say_error("lost\n");
    ensure_standard_descriptors();
    say_error("lost\n");
    return "went on";
  });
  EXPECT_EQ(said.value_or("nothing"), "went on");
}

TEST(StandardStreams, ATerminalHasItsWidth) {
  const auto width_of = [](const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(std::fopen(path.c_str(), "w"), &std::fclose);
    return stream ? terminal_width(stream.get()) : -1;
  };
  EXPECT_EQ(width_of(testing_support::Terminal(57).path()), 57);
  EXPECT_EQ(width_of(testing_support::Terminal(0).path()), 0) << "does not say";
  EXPECT_EQ(width_of("/dev/null"), 0);
}

}  // namespace lockstep
