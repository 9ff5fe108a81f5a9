#include "topology/network.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

NetworkDescription flat_network(int ranks, const FlatCost& cost) {
  NetworkDescription network{.name = "flat network", .ranks = ranks, .gamma_s = cost.gamma_s, .hosts = {}, .racks = {}};
  network.hosts.reserve(static_cast<std::size_t>(ranks));
  const LinkCost port{.message_s = cost.alpha_s, .bytes_per_second = 1 / cost.beta_s};
  for (int rank = 0; rank < ranks; ++rank) {
    HostDescription host;
    host.name = fmt::format("host{}", rank);
    host.ranks = {rank};
    host.nic = port;
    network.hosts.push_back(std::move(host));
  }
  return network;
}

NetworkDescription first_ranks(NetworkDescription network, int ranks) {
  if (ranks > network.ranks) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{} has {} ranks, and -n asks for {}; ask for at most {}.",
                                                         network.name, network.ranks, ranks, network.ranks));
  }
  network.ranks = ranks;
  for (HostDescription& host : network.hosts) {
    std::erase_if(host.ranks, [&](int rank) { return rank >= ranks; });
  }
  return network;
}

}  // namespace lockstep
