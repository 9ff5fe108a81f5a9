#include "train/checkpoint/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include "base/file_descriptor.h"

namespace lockstep {

namespace {

[[noreturn]] void throw_unreadable(const std::filesystem::path& path, int error) {
  throw Error(ErrorCode::kIo,
              fmt::format("Reading {} failed: {}.", path.string(), std::generic_category().message(error)));
}

}  // namespace

MappedFile map_file(const std::filesystem::path& path) {
  const FileDescriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0) throw_unreadable(path, errno);
  if (S_ISDIR(status.st_mode)) throw_unreadable(path, EISDIR);
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) return {};
  void* memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.get(), 0);
  if (memory == MAP_FAILED) throw_unreadable(path, errno);
  return {std::shared_ptr<void>(memory, [size](void* address) { ::munmap(address, size); }), size};
}

}  // namespace lockstep
