#pragma once

#include <cstdint>

namespace lockstep {

/// What moves the bytes: ranks see each other's memory, or send messages, over sockets or by MPI.
enum class Medium : std::uint8_t { kSharedMemory, kTcp, kMpi };

/// Where ranks see each other's memory: what the group allocated, which peers read and write in place, or any other,
/// which passes through staging memory. Elsewhere all memory is alike, and registered.
enum class MemoryKind : std::uint8_t { kRegistered, kPlain };

}  // namespace lockstep
