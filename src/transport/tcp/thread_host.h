#pragma once

#include "transport/tcp/tcp_transport.h"

#include <vector>

namespace lockstep::tcp {

/// Hosts for `ranks` threads of this process, one each, joined over loopback. Nothing listens once it returns.
std::vector<Host> thread_hosts(int ranks);

}  // namespace lockstep::tcp
