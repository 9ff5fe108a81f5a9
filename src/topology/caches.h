#pragma once

#include <cstddef>
#include <filesystem>

namespace lockstep {

inline constexpr const char* kFirstCpu = "/sys/devices/system/cpu/cpu0";

/// Bytes of the cache of data of that level that the CPU sees, by the kernel's account; 0 where it names none. (What
/// sysconf and glibc say is the whole socket's, or the whole host's under a hypervisor.)
std::size_t cache_bytes(int level, const std::filesystem::path& cpu = kFirstCpu);

/// Of the highest level that there is; 32 MiB where the kernel names none.
std::size_t last_level_cache_bytes(const std::filesystem::path& cpu = kFirstCpu);

}  // namespace lockstep
