#pragma once

#include "transport/shm/shm_transport.h"

namespace lockstep::shm {

/// Hosts for `ranks` threads of this process, one each. They see each other's arenas where they are.
std::vector<Host> thread_hosts(int ranks);

}  // namespace lockstep::shm
