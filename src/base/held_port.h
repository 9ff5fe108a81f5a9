#pragma once

#include "base/file_descriptor.h"

namespace lockstep {

/// A TCP port of 127.0.0.1 that is kept free for who is to listen there: while `socket` is open, the system gives it to
/// nobody who asks for any port, for a listener or as the near end of a connection. Who asks for this one may listen as
/// soon as it sets SO_REUSEADDR; without that, the socket must be closed first.
struct HeldPort {
  FileDescriptor socket;  ///< bound, and listens to nothing; closed when a program is started from here
  int number = 0;
};

/// Throws Error (kTransport) where the system has no port or no socket left.
HeldPort hold_port();

}  // namespace lockstep
