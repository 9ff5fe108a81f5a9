#pragma once

#include <cstddef>
#include <filesystem>

namespace lockstep {

/// Every host has it, and every process is told the same of it, whichever CPUs it is bound to: calibrations know their
/// machine by its caches, and ranks measure as many buffers as each other.
inline constexpr const char* kFirstCpu = "/sys/devices/system/cpu/cpu0";

/// Bytes of the cache of data of that level that the CPU sees, by the kernel's account; 0 where it names none. It is
/// the whole cache, however many CPUs share it. (What sysconf and glibc say is the whole socket's, or the whole host's
/// under a hypervisor.)
std::size_t cache_bytes(int level, const std::filesystem::path& cpu = kFirstCpu);

/// Of the highest level that there is; 32 MiB where the kernel names none.
std::size_t last_level_cache_bytes(const std::filesystem::path& cpu = kFirstCpu);

}  // namespace lockstep
