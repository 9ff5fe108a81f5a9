#include "transport/tcp/thread_host.h"

#include "transport/tcp/piece_bytes.h"
#include "transport/tcp/tcp_socket.h"

#include <lockstep/error.h>

#include <chrono>
#include <utility>

namespace lockstep::tcp {

namespace {

/// Both ends of a connection. A stranger that comes first is not taken for our own end.
std::pair<FileDescriptor, FileDescriptor> connected_pair(int ranks) {
  const FileDescriptor listener = listen_on(Address::resolve("127.0.0.1", 0));
  const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  FileDescriptor one = connect_to(Address::of(listener), deadline);
  while (one && std::chrono::steady_clock::now() < deadline) {
    FileDescriptor other = accept_from(listener);
    if (!other) continue;
    const auto peer = Address::peer_of(other);
    if (!peer || peer->to_string() != Address::of(one).to_string()) continue;
    prepare(one, ranks);
    prepare(other, ranks);
    return {std::move(one), std::move(other)};
  }
  throw Error(ErrorCode::kTransport, "A connection over loopback could not be made.");
}

}  // namespace

std::vector<Host> thread_hosts(int ranks) {
  std::vector<Host> hosts(static_cast<std::size_t>(ranks));
  for (std::size_t a = 0; a < hosts.size(); ++a) {
    hosts[a].rank = static_cast<int>(a);
    hosts[a].here = {static_cast<int>(a), ranks};
    hosts[a].piece_bytes = kPieceBytesOverLoopback;
    hosts[a].links.resize(hosts.size());
    for (std::size_t b = 0; b < a; ++b) {
      std::tie(hosts[a].links[b].control, hosts[b].links[a].control) = connected_pair(ranks);
      std::tie(hosts[a].links[b].data, hosts[b].links[a].data) = connected_pair(ranks);
      std::tie(hosts[a].links[b].messages, hosts[b].links[a].messages) = connected_pair(ranks);
    }
  }
  return hosts;
}

}  // namespace lockstep::tcp
