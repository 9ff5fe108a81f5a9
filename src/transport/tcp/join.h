#pragma once

#include "base/secret.h"
#include "transport/meeting.h"
#include "transport/tcp/tcp_socket.h"
#include "transport/tcp/tcp_transport.h"

#include <chrono>
#include <optional>
#include <string>

namespace lockstep::tcp {

/// Which rank of which job this process is, and where the job meets.
struct JoinRequest {
  std::string job;  ///< the same on all ranks, and of no other job of the same secret
  int rank = 0;
  int size = 1;
  RankHere here;                      ///< among those of them that share this machine
  std::string meet_at = "127.0.0.1";  ///< rank 0 listens on this, the first that is its own, and nowhere else
  int port = 0;
  std::string listen_on;         ///< where this rank takes connections; empty: where it reached rank 0 from
  std::optional<Secret> secret;  ///< none: only loopback is listened on
  std::chrono::milliseconds timeout{60'000};
  Company company{};
  NameLookup lookup = ::getaddrinfo;  ///< of `meet_at`
};

/// Finds the other ranks of the job and connects each two of them. Every rank calls it. All connections are made here,
/// and then nobody listens any more. A name in `meet_at` that stands for nothing yet is asked for again by all but
/// rank 0, until the timeout; where it stands for several addresses, they look for rank 0 at each.
///
/// Throws Error: kTimeout naming the ranks that did not come, kMismatch if ranks disagree about the world, the job or
/// its secret, kInvalidArgument if others could reach what is listened on and there is no secret or for more ranks than
/// this process can hold, kTransport, kUnsupported.
Host join_processes(const JoinRequest& request);

/// The same where rank 0 listens already, and the others know where: `listener` is rank 0's, empty on the others.
Host join_at(const JoinRequest& request, const Address& meeting, FileDescriptor listener);

/// Listens for ranks on the address that LOCKSTEP_ADDRESS gave (`listen_on`) or, where that is empty, on `own`, at any
/// port. Throws Error: kInvalidArgument for what is no address, or stands for all of another family than `own`, or if
/// others could reach it and there is no secret; kTransport, naming the variable, if it is none of this machine.
FileDescriptor open_own_listener(int rank, const std::string& listen_on, const Address& own, bool has_secret);
/// Where peers are to connect to that listener: where it takes what comes for any address of this machine, that is
/// `own`, at its port.
Address told_to_peers(const FileDescriptor& listener, const Address& own);

}  // namespace lockstep::tcp
