#pragma once

#include <string>

namespace lockstep {

/// The number that the running kernel drew when it booted, of 128 bits in hexadecimal. Throws Error (kIo) where the
/// system does not say it.
std::string boot_id();

/// What tells this host from all others: LOCKSTEP_HOST if it is set, else the boot id, else the machine's name. Ranks
/// that share a kernel share a host, whatever containers and network namespaces they are in (docs/design/hosts.md).
std::string host_id();

}  // namespace lockstep
