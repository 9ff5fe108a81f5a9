#pragma once

#include "group/identity.h"
#include "transport/tcp/join.h"

namespace lockstep {

/// Where the ranks of a job meet over TCP, as the environment says: at MASTER_ADDR (this machine without it) and
/// LOCKSTEP_PORT (without it, the port after MASTER_PORT). Throws Error (kInvalidArgument) that names the variable.
tcp::JoinRequest tcp_request(const Identity& identity, const Lookup& lookup);

}  // namespace lockstep
