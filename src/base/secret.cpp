#include "base/secret.h"

#include "base/environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace lockstep {

namespace {

[[noreturn]] void refuse(const char* variable, const std::string& value, const std::string& why) {
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{} is '{}', {}", variable, value, why));
}

/// The value of a hexadecimal digit; -1 if it is none.
int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/// The number may stand for another file by now, which is no secret, where a program closed it and passed the variable
/// on.
bool is_the_launchers(int descriptor) {
  const int seals = ::fcntl(descriptor, F_GET_SEALS);
  struct stat found {};
  return seals >= 0 && (seals & F_SEAL_WRITE) != 0 && ::fstat(descriptor, &found) == 0 &&
         found.st_size == static_cast<off_t>(Secret::kBytes);
}

}  // namespace

Secret Secret::make() {
  Secret secret;
  if (::getrandom(secret.bytes_.data(), kBytes, 0) != static_cast<ssize_t>(kBytes)) throw_system_error("getrandom");
  return secret;
}

std::optional<Secret> Secret::find(const std::function<std::optional<std::string>(const char* name)>& lookup) {
  if (const auto descriptor = lookup(kSecretDescriptorVariable)) return from_descriptor(*descriptor);
  if (const auto file = lookup(kSecretFileVariable)) return from_file(*file);
  return std::nullopt;
}

FileDescriptor Secret::inheritable() const {
  FileDescriptor file(::memfd_create("lockstep-secret", MFD_ALLOW_SEALING));
  if (!file || ::write(file.get(), bytes_.data(), kBytes) != static_cast<ssize_t>(kBytes) ||
      ::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0) {
    throw_system_error("Keeping the job's secret in memory");
  }
  return file;
}

Secret Secret::from_descriptor(const std::string& number) {
  const int descriptor = whole_number(kSecretDescriptorVariable, number);
  Secret secret;
  // From the start whatever the position: the ranks of a job share one open file.
  if (!is_the_launchers(descriptor) ||
      ::pread(descriptor, secret.bytes_.data(), kBytes, 0) != static_cast<ssize_t>(kBytes)) {
    refuse(kSecretDescriptorVariable, number,
           fmt::format("from which no secret of {} bytes can be read: whatever started this program closed the "
                       "launcher's descriptor. Let it pass on, or name a file in {} and unset {}.",
                       kBytes, kSecretFileVariable, kSecretDescriptorVariable));
  }
  // What this program starts has no business with it.
  ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  return secret;
}

Secret Secret::from_file(const std::string& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) refuse(kSecretFileVariable, path, fmt::format("which cannot be read: {}.", std::strerror(errno)));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    refuse(kSecretFileVariable, path, "which is no regular file.");
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0 || (status.st_uid != ::geteuid() && status.st_uid != 0)) {
    refuse(kSecretFileVariable, path, fmt::format("which others can open; make it yours alone: chmod 600 {}.", path));
  }
  std::array<char, 2 * kBytes + 2> text{};
  const ssize_t got = ::pread(file.get(), text.data(), text.size(), 0);
  const auto digits = static_cast<ssize_t>(2 * kBytes);
  bool valid = got == digits || (got == digits + 1 && text[2 * kBytes] == '\n');
  Secret secret;
  for (std::size_t i = 0; valid && i < kBytes; ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    valid = high >= 0 && low >= 0;
    secret.bytes_[i] = static_cast<unsigned char>(high * 16 + low);
  }
  if (!valid) {
    refuse(
        kSecretFileVariable, path,
        fmt::format("which does not hold {} hexadecimal digits; make one: openssl rand -hex {}.", 2 * kBytes, kBytes));
  }
  return secret;
}

}  // namespace lockstep
