#include "base/atomic_file.h"

#include "base/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <string>
#include <system_error>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_io(std::string_view doing, const fs::path& path, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("{} {} failed: {}.", doing, path.string(), std::generic_category().message(error)));
}

/// To a file that is there.
void write_all(const fs::path& path, const std::vector<std::string_view>& parts) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  if (!file) throw_io("Writing", path, errno);
  for (std::string_view part : parts) {
    while (!part.empty()) {
      const ssize_t written = ::write(file.get(), part.data(), part.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) throw_io("Writing", path, errno);
      part.remove_prefix(static_cast<std::size_t>(written));
    }
  }
}

/// A name beside `path` that nobody else can know before, no longer than names may be.
fs::path unknown_name_beside(const fs::path& path) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::array<unsigned char, 10> random{};
  if (::getrandom(random.data(), random.size(), 0) != std::ssize(random)) throw_io("Writing", path, errno);
  std::string ending = ".";
  for (const unsigned char byte : random) ending += kDigits[byte % kDigits.size()];
  ending += ".partial";
  return path.parent_path() / (path.filename().string().substr(0, NAME_MAX - ending.size()) + ending);
}

/// Makes what stands in for `path` until it is whole: a new file, never what another has put there, and only for us
/// where it replaces one that may be.
fs::path make_temporary(const fs::path& path, bool replaces) {
  while (true) {
    fs::path temporary = unknown_name_beside(path);
    const FileDescriptor file(
        ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, replaces ? 0600 : 0644));
    if (file) return temporary;
    if (errno != EEXIST) throw_io("Writing", temporary, errno);
  }
}

/// Who owns the file that was there, and who may do what with it, as far as this process may say so.
void take_over(const struct stat& replaced, const FileDescriptor& file) {
  const int given = ::fchown(file.get(), replaced.st_uid, replaced.st_gid);
  [[maybe_unused]] const int shared = given == 0 ? 0 : ::fchown(file.get(), static_cast<uid_t>(-1), replaced.st_gid);
  ::fchmod(file.get(), replaced.st_mode & (S_IRWXU | S_IRWXG | S_IRWXO));
}

/// What is whole takes the place of `path`, and of what that was.
void replace(const fs::path& path, const fs::path& temporary, const struct stat* replaced) {
  {
    const FileDescriptor file(::open(temporary.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
    if (!file) throw_io("Writing", temporary, errno);
    if (replaced != nullptr) take_over(*replaced, file);
    if (::fsync(file.get()) != 0) throw_io("Writing", temporary, errno);
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw_io("Renaming to", path, errno);
}

/// The file that a name leads to through symbolic links, which need not be there yet.
fs::path end_of_links(const fs::path& name) {
  constexpr int kMostLinks = 40;  // as the kernel follows
  std::error_code error;
  fs::path path = name;
  for (int links = 0; fs::is_symlink(fs::symlink_status(path, error)); ++links) {
    if (links == kMostLinks) throw_io("Writing", name, ELOOP);
    const fs::path next = fs::read_symlink(path, error);
    if (error) throw_io("Reading", path, error.value());
    path = path.parent_path() / next;
  }
  return path;
}

}  // namespace

void make_durable(const fs::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) throw_io("Writing", path, errno);
}

void write_file_atomically(const fs::path& link, const std::function<void(const fs::path&)>& write) {
  std::error_code none;
  const fs::file_status there = fs::status(link, none);
  // Renamed over, a device or a pipe would be gone, and there is nothing in it to keep whole.
  if (fs::exists(there) && !fs::is_regular_file(there) && !fs::is_directory(there)) return write(link);
  const fs::path path = end_of_links(link);
  struct stat status {};
  const bool replaces = fs::is_regular_file(there) && ::stat(path.c_str(), &status) == 0;
  const fs::path temporary = make_temporary(path, replaces);
  try {
    write(temporary);
    replace(path, temporary, replaces ? &status : nullptr);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
  make_durable(path.has_parent_path() ? path.parent_path() : fs::path("."));
}

void write_file_atomically(const fs::path& path, const std::vector<std::string_view>& parts) {
  write_file_atomically(path, [&](const fs::path& temporary) { write_all(temporary, parts); });
}

void write_file_atomically(const fs::path& path, std::string_view content) {
  write_file_atomically(path, std::vector<std::string_view>{content});
}

std::string read_file(const fs::path& path, std::size_t most_bytes) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) throw_io("Reading", path, errno);
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.get(), buffer, std::min(sizeof buffer, most_bytes - content.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw_io("Reading", path, errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace lockstep
