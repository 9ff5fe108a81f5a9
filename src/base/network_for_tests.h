#pragma once

#include "base/file_descriptor.h"

#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cstring>
#include <fstream>

namespace lockstep::testing_support {

inline constexpr const char* kWhyNoNetwork = "only root, or who may make a user namespace, has a network of its own";

/// Moves this process to a network of its own, whose only port to give away is 40000. False where it may not.
inline bool leave_one_port() {
  if (::unshare(CLONE_NEWNET) != 0 && ::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0) return false;
  const FileDescriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ifreq loopback{};
  std::strcpy(loopback.ifr_name, "lo");
  loopback.ifr_flags = IFF_UP | IFF_RUNNING;
  if (::ioctl(socket.get(), SIOCSIFFLAGS, &loopback) != 0) return false;
  std::ofstream range("/proc/sys/net/ipv4/ip_local_port_range");
  return static_cast<bool>(range << "40000 40000" << std::flush);
}

}  // namespace lockstep::testing_support
