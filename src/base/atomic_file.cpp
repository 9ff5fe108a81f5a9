#include "base/atomic_file.h"

#include "base/file_descriptor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <system_error>

namespace lockstep {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_io(std::string_view doing, const fs::path& path, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("{} {} failed: {}.", doing, path.string(), std::generic_category().message(error)));
}

void write_all(const fs::path& path, const std::vector<std::string_view>& parts) {
  const FileDescriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
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
  const fs::path path = fs::is_regular_file(there) && fs::is_symlink(link) ? fs::canonical(link) : link;
  const fs::path temporary = path.string() + fmt::format(".{}.partial", ::getpid());
  try {
    write(temporary);
    make_durable(temporary);
    if (::rename(temporary.c_str(), path.c_str()) != 0) throw_io("Renaming to", path, errno);
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
