#pragma once

#include <cstddef>
#include <filesystem>

namespace lockstep::bench {

/// Bytes of the last-level cache that CPU 0 sees, by the kernel's account; 32 MiB where it gives none. (What sysconf
/// and glibc say is the whole socket's, or the whole host's under a hypervisor.)
std::size_t last_level_cache_bytes(const std::filesystem::path& cpu = "/sys/devices/system/cpu/cpu0");

}  // namespace lockstep::bench
