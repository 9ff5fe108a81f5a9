#pragma once

#include "group/identity.h"
#include "transport/transports.h"

#include <span>
#include <string>

namespace lockstep {

struct TransportChoice {
  TransportKind kind;
  std::string passed_over;  ///< what would have been better, and why it does not work here: " shm: No file may be ..."
};

/// The name that LOCKSTEP_TRANSPORT is, of `transports`; null for "auto". Throws Error (kInvalidArgument) for another.
const NamedTransport* find_transport(const std::string& asked, std::span<const NamedTransport> transports);

/// What moves the bytes of this job, of `transports`, where LOCKSTEP_TRANSPORT is `asked`: the one of that name, or for
/// "auto" the first that works here: shared memory if the launcher says that all ranks are on this machine, MPI if it
/// is one of MPI's, TCP. Throws Error: kInvalidArgument for another name, kUnsupported where what is asked for cannot
/// work, and why.
TransportChoice choose_transport(const std::string& asked, const Identity& identity,
                                 std::span<const NamedTransport> transports);

}  // namespace lockstep
