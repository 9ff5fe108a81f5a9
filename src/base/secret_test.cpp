#include "base/secret.h"

#include "base/environment.h"
#include "base/error_for_tests.h"
#include "base/limit_for_tests.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace lockstep {

namespace {

std::optional<Secret> find(const std::map<std::string, std::string>& variables) {
  return Secret::find([&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

/// A file that is gone with the test.
class SecretFile {
 public:
  explicit SecretFile(const std::string& content, mode_t mode = 0600)
      : path_(std::filesystem::temp_directory_path() / ("lockstep-secret-" + std::to_string(::getpid()))) {
    std::ofstream(path_) << content;
    ::chmod(path_.c_str(), mode);
  }
  ~SecretFile() { std::filesystem::remove(path_); }
  SecretFile(const SecretFile&) = delete;
  SecretFile& operator=(const SecretFile&) = delete;
  std::string path() const { return path_; }

 private:
  std::filesystem::path path_;
};

void expect_refused(const std::map<std::string, std::string>& variables, const std::string& why) {
  try {
    find(variables);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(error.what(), testing::HasSubstr(why));
  }
}

const std::string kDigits = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F";

}  // namespace

TEST(Secret, EachIsNew) { EXPECT_NE(Secret::make().bytes(), Secret::make().bytes()); }

TEST(Secret, NoneWhereNothingNamesOne) { EXPECT_FALSE(find({})); }

TEST(Secret, PassesThroughADescriptor) {
  const Secret secret = Secret::make();
  const FileDescriptor file = secret.inheritable();
  EXPECT_EQ(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0) << "programs could not inherit it";
  const std::map<std::string, std::string> variables{{kSecretDescriptorVariable, std::to_string(file.get())}};
  EXPECT_EQ(find(variables)->bytes(), secret.bytes());
  EXPECT_EQ(find(variables)->bytes(), secret.bytes()) << "the second of two readers of one open file";
  EXPECT_NE(::fcntl(file.get(), F_GETFD) & FD_CLOEXEC, 0) << "what a rank starts would inherit it";
}

TEST(Secret, ADescriptorThatIsNotThereIsSaid) {
  expect_refused({{kSecretDescriptorVariable, "987"}}, "closed the launcher's descriptor");
  expect_refused({{kSecretDescriptorVariable, "x"}}, "not a whole number");
}

/// As the number is, once a program has closed the launcher's descriptor and opened another.
TEST(Secret, ADescriptorOfWhatAnybodyHasIsNone) {
  for (const char* path : {"/proc/self/exe", "/dev/zero"}) {
    const FileDescriptor file(::open(path, O_RDONLY | O_CLOEXEC));
    ASSERT_TRUE(file);
    expect_refused({{kSecretDescriptorVariable, std::to_string(file.get())}}, "closed the launcher's descriptor");
  }
  const FileDescriptor writable(::memfd_create("secret", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::write(writable.get(), kDigits.data(), Secret::kBytes), static_cast<ssize_t>(Secret::kBytes));
  expect_refused({{kSecretDescriptorVariable, std::to_string(writable.get())}}, "closed the launcher's descriptor");
}

TEST(Secret, WhoHasNoDescriptorLeftIsTold) {
  if (!testing_support::kDescriptorsCanBeDenied) GTEST_SKIP() << testing_support::kWhyNotDenied;
  const testing_support::Limit descriptors(RLIMIT_NOFILE, 0);
  EXPECT_THAT([] { (void)Secret::make().inheritable(); },
              testing_support::refuses(ErrorCode::kTransport,
                                       "Keeping the job's secret in memory failed: Too many open files"));
}

TEST(Secret, ReadsAFileOfHexadecimalDigits) {
  for (const char* end : {"", "\n"}) {
    const SecretFile file(kDigits + end);
    const auto secret = find({{kSecretFileVariable, file.path()}});
    ASSERT_TRUE(secret);
    for (std::size_t i = 0; i < Secret::kBytes; ++i) EXPECT_EQ(secret->bytes()[i], i);
  }
}

TEST(Secret, RefusesAFileThatOthersCanRead) {
  const SecretFile file(kDigits, 0640);
  expect_refused({{kSecretFileVariable, file.path()}}, "chmod 600");
}

TEST(Secret, RefusesWhatIsNoSecret) {
  for (const std::string& content : {std::string(), kDigits.substr(1), kDigits + "0", "x" + kDigits.substr(1)}) {
    const SecretFile file(content);
    expect_refused({{kSecretFileVariable, file.path()}}, "64 hexadecimal digits");
  }
  expect_refused({{kSecretFileVariable, "/nowhere/secret"}}, "No such file");
  expect_refused({{kSecretFileVariable, "/tmp"}}, "no regular file");
}

}  // namespace lockstep
