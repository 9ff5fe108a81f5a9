#include "transport/shm/shared_mapping.h"

#include "transport/shm/pages.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

namespace lockstep::shm {

namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

/// Where so many bytes would begin at a huge page: an address for mmap, which takes another one if somebody was faster.
void* place_of(std::size_t bytes) {
  void* const room = ::mmap(nullptr, bytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  ::munmap(room, bytes + kHugePage);
  return static_cast<std::byte*>(room) + bytes_before_huge(room);
}

}  // namespace

SharedMapping SharedMapping::create(const char* name, std::size_t bytes) {
  FileDescriptor file(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!file) throw_system_error("Making shared memory (memfd_create)");
  // Shared memory is a file to the system, which ends a process that asks for a larger one than it may have.
  rlimit largest_file{};
  if (::getrlimit(RLIMIT_FSIZE, &largest_file) == 0 && largest_file.rlim_cur < bytes) {
    throw Error(ErrorCode::kTransport,
                fmt::format("No file may be larger than {} bytes here (ulimit -f), and memory to share is one of {}.",
                            largest_file.rlim_cur, bytes));
  }
  if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) throw_system_error("Sizing shared memory (ftruncate)");
  if (::fcntl(file.get(), F_ADD_SEALS, kSeals) != 0) throw_system_error("Sealing shared memory (F_ADD_SEALS)");
  return {std::move(file), bytes};
}

SharedMapping SharedMapping::attach(FileDescriptor file, std::size_t bytes) {
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) throw_system_error("Looking at a peer's memory (fstat)");
  const int seals = ::fcntl(file.get(), F_GET_SEALS);  // with vm.memfd_noexec the system adds one of its own
  if (static_cast<std::size_t>(status.st_size) != bytes || seals < 0 || (seals & kSeals) != kSeals) {
    throw Error(ErrorCode::kTransport, "A peer offered memory of another size than it said, or not sealed.");
  }
  SharedMapping attached(std::move(file), bytes);
  attached.file_.reset();  // the mapping needs none, and there is one for each peer and group
  return attached;
}

SharedMapping::SharedMapping(FileDescriptor file, std::size_t bytes) : file_(std::move(file)), bytes_(bytes) {
  void* const place = bytes < kHugePage ? nullptr : place_of(bytes);
  void* data = ::mmap(place, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_.get(), 0);
  if (data == MAP_FAILED) throw_system_error("Mapping shared memory (mmap)");
  data_ = static_cast<std::byte*>(data);
  // A core file of one rank need not hold every rank's buffers.
  ::madvise(data_, bytes_, MADV_DONTDUMP);
}

SharedMapping::SharedMapping(SharedMapping&& other) noexcept
    : file_(std::move(other.file_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMapping& SharedMapping::operator=(SharedMapping&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedMapping::~SharedMapping() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

}  // namespace lockstep::shm
