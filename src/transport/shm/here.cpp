#include "transport/shm/here.h"

#include "transport/shm/arena.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/resource.h>

namespace lockstep::shm {

/// Tries what the smallest job needs: address space for registered memory, and a page of it.
std::optional<std::string> why_not_here() {
  constexpr std::size_t kTrial = 4096;
  const std::size_t bytes = Arena::default_bytes(2);
  rlimit largest_file{};
  // Shared memory is a file to the system, which ends a process that asks for a larger one than it may have.
  if (::getrlimit(RLIMIT_FSIZE, &largest_file) == 0 && largest_file.rlim_cur < bytes) {
    return fmt::format("No file may be larger than {} bytes here (ulimit -f), and memory to share is one of {}.",
                       largest_file.rlim_cur, bytes);
  }
  try {
    (void)Arena::create(bytes)->allocate(kTrial);
    return std::nullopt;
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lockstep::shm
