#include "transport/shm/here.h"

#include "transport/shm/arena.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>

namespace lockstep::shm {

namespace {

/// Why there is no address space for so many bytes that peers share; none if there is.
std::optional<std::string> why_no_room_for(std::size_t bytes) {
  if (bytes == 0) return std::nullopt;
  void* const room = ::mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    return fmt::format("There is no address space for {} bytes of other ranks' memory (ulimit -v): {}.", bytes,
                       std::strerror(errno));
  }
  ::munmap(room, bytes);
  return std::nullopt;
}

}  // namespace

/// Tries what a job needs: address space for the memory of all its ranks, and a page of this one's.
std::optional<std::string> why_not_here(int ranks) {
  constexpr std::size_t kTrial = 4096;
  const std::size_t bytes = Arena::default_bytes(ranks);
  try {
    const auto own = Arena::create(bytes);
    (void)own->allocate(kTrial);
    return why_no_room_for(bytes * static_cast<std::size_t>(ranks - 1));
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace lockstep::shm
