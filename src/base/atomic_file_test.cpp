#include "base/atomic_file.h"

#include "base/error_for_tests.h"
#include "base/file_descriptor.h"
#include "base/scratch_folder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/stat.h>
#include <unistd.h>

#include <climits>
#include <set>
#include <string>

namespace lockstep {

namespace fs = std::filesystem;

namespace {

struct stat status_of(const fs::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status;
}

}  // namespace

class AtomicFile : public testing::Test {
 protected:
  std::ptrdiff_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

 private:
  const ScratchFolder scratch_;

 protected:
  const fs::path& folder_ = scratch_.path();
};

TEST_F(AtomicFile, WritesAndReadsBack) {
  const std::string content(200000, 'x');
  write_file_atomically(folder_ / "a", content);
  EXPECT_EQ(read_file(folder_ / "a"), content);
  EXPECT_EQ(read_file(folder_ / "a", 3), content.substr(0, 3));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, AFailedWriteLeavesTheOldFileAndNoOther) {
  write_file_atomically(folder_ / "a", "old");
  const auto fail = [](const fs::path& temporary) {
    write_file_atomically(temporary, "half");
    throw Error(ErrorCode::kIo, "the disk is full");
  };
  EXPECT_THROW(write_file_atomically(folder_ / "a", fail), Error);
  EXPECT_EQ(read_file(folder_ / "a"), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, WritesTheFileThatALinkLeadsTo) {
  write_file_atomically(folder_ / "a", "old");
  fs::create_symlink(folder_ / "a", folder_ / "link");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "a"), "new");
  EXPECT_EQ(files(), 2);
}

TEST_F(AtomicFile, ALinkMayLeadWhereNothingIsYet) {
  fs::create_directory(folder_ / "results");
  fs::create_symlink("results/latest", folder_ / "link");
  fs::create_symlink(folder_ / "results" / "a", folder_ / "results" / "latest");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_TRUE(fs::is_symlink(folder_ / "results" / "latest"));
  EXPECT_EQ(read_file(folder_ / "results" / "a"), "new");
}

TEST_F(AtomicFile, LinksThatLeadInACircleAreSaidAndStay) {
  fs::create_symlink("b", folder_ / "a");
  fs::create_symlink("a", folder_ / "b");
  EXPECT_THAT([&] { write_file_atomically(folder_ / "a", "new"); },
              testing::ThrowsMessage<Error>(testing::HasSubstr("a failed: Too many levels of symbolic links.")));
  EXPECT_TRUE(fs::is_symlink(folder_ / "a"));
}

TEST_F(AtomicFile, TheTemporaryIsNewAndNobodyCanGuessItsName) {
  std::set<fs::path> names;
  for (int i = 0; i < 4; ++i) {
    write_file_atomically(folder_ / "a", [&](const fs::path& temporary) {
      EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(temporary))) << "it is made before it is written";
      EXPECT_TRUE(fs::is_empty(temporary));
      names.insert(temporary);
    });
  }
  EXPECT_EQ(names.size(), 4U);
  for (const fs::path& name : names) {
    EXPECT_EQ(name.parent_path(), folder_);
    EXPECT_THAT(name.filename().string(), testing::MatchesRegex("a\\.[0-9a-z]+\\.partial"));
  }
}

TEST_F(AtomicFile, AFileThatIsReplacedKeepsItsMode) {
  const fs::path path = folder_ / "a";
  const mode_t mask = ::umask(022);
  write_file_atomically(path, "new");
  EXPECT_EQ(status_of(path).st_mode & 07777, 0644U);
  for (const mode_t mode : {0600U, 0666U, 0755U}) {
    ASSERT_EQ(::chmod(path.c_str(), mode), 0);
    write_file_atomically(path, "again");
    EXPECT_EQ(status_of(path).st_mode & 07777, mode);
  }
  ::umask(mask);
}

TEST_F(AtomicFile, AFileThatIsReplacedKeepsItsOwner) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give files away";
  const fs::path path = folder_ / "a";
  write_file_atomically(path, "new");
  constexpr uid_t kAnother = 12345;
  ASSERT_EQ(::chown(path.c_str(), kAnother, kAnother), 0);
  write_file_atomically(path, "more");
  EXPECT_EQ(status_of(path).st_uid, kAnother);
  EXPECT_EQ(status_of(path).st_gid, kAnother);
}

/// As of a file with secrets in it.
TEST_F(AtomicFile, WhatIsHalfWrittenNobodyElseReads) {
  write_file_atomically(folder_ / "a", "secret");
  fs::permissions(folder_ / "a", fs::perms::owner_read | fs::perms::owner_write);
  write_file_atomically(folder_ / "a", [&](const fs::path& temporary) {
    EXPECT_EQ(fs::status(temporary).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  });
}

TEST_F(AtomicFile, AnyNameThatTheSystemTakesWorks) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{245}, std::size_t{NAME_MAX}}) {
    const fs::path path = folder_ / std::string(length, 'n');
    write_file_atomically(path, "x");
    EXPECT_EQ(read_file(path), "x") << length;
  }
  EXPECT_EQ(files(), 3);
}

TEST_F(AtomicFile, APipeIsWrittenToAndStaysOne) {
  const fs::path pipe = folder_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const FileDescriptor reader(::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  ASSERT_TRUE(reader);
  write_file_atomically(pipe, "x");
  char got = 0;
  EXPECT_EQ(::read(reader.get(), &got, 1), 1);
  EXPECT_EQ(got, 'x');
  EXPECT_TRUE(fs::is_fifo(pipe));
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, SaysWhichFileAndWhy) {
  try {
    write_file_atomically(folder_ / "missing" / "a", "x");
    FAIL() << "wrote into a folder that is not there";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kIo);
    EXPECT_THAT(error.what(), testing::HasSubstr("missing/a"));
    EXPECT_THAT(error.what(), testing::HasSubstr("No such file or directory"));
  }
  using testing_support::refuses;
  const std::string folder = folder_.string();
  EXPECT_THAT([&] { read_file(folder_ / "nothing"); },
              refuses(ErrorCode::kIo, "Reading " + folder + "/nothing failed: No such file or directory."));
  EXPECT_THAT([&] { read_file(folder_); }, refuses(ErrorCode::kIo, "Reading " + folder + " failed: Is a directory."));
  EXPECT_THAT([&] { write_file_atomically(folder_, "x"); },
              refuses(ErrorCode::kIo, "Renaming to " + folder + " failed: Is a directory."));
  EXPECT_THAT([] { write_file_atomically("/dev/full", "x"); },
              refuses(ErrorCode::kIo, "Writing /dev/full failed: No space left on device."));
  EXPECT_THAT([] { make_durable("/dev/full"); },
              refuses(ErrorCode::kIo, "Writing /dev/full failed: Invalid argument."));
}

}  // namespace lockstep
