#pragma once

#include <cstdint>
#include <string_view>

namespace lockstep {

/// What moves the bytes: ranks see each other's memory, or send messages, over sockets or by MPI.
enum class Medium : std::uint8_t { kSharedMemory, kTcp, kMpi };

/// As in --transport and LOCKSTEP_TRANSPORT: "shm", "tcp", "mpi".
constexpr std::string_view to_string(Medium medium) {
  switch (medium) {
    case Medium::kSharedMemory: return "shm";
    case Medium::kTcp: return "tcp";
    case Medium::kMpi: return "mpi";
  }
  return "unknown";
}

/// Where ranks see each other's memory: what the group allocated, which peers read and write in place, or any other,
/// which passes through staging memory. Elsewhere all memory is alike, and registered.
enum class MemoryKind : std::uint8_t { kRegistered, kPlain };

}  // namespace lockstep
