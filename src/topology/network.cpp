#include "topology/network.h"

#include <fmt/format.h>
#include <lockstep/error.h>

namespace lockstep {

std::string flat_host_name(int rank) { return fmt::format("rank {}", rank); }

NetworkDescription flat_network(int ranks, const FlatCost& cost) {
  NetworkDescription network{.name = "flat network", .ranks = ranks, .gamma_s = cost.gamma_s, .hosts = {}, .racks = {}};
  network.hosts.reserve(static_cast<std::size_t>(ranks));
  const LinkCost port{.message_s = cost.alpha_s, .bytes_per_second = 1 / cost.beta_s};
  for (int rank = 0; rank < ranks; ++rank) {
    HostDescription host;
    host.name = flat_host_name(rank);
    host.ranks = {rank};
    host.nic = port;
    network.hosts.push_back(std::move(host));
  }
  return network;
}

namespace {

void require_ranks(const NetworkDescription& network, int ranks) {
  if (ranks <= network.ranks) return;
  throw Error(ErrorCode::kInvalidArgument, fmt::format("{} has {} ranks, and -n asks for {}; ask for at most {}.",
                                                       network.name, network.ranks, ranks, network.ranks));
}

}  // namespace

NetworkDescription first_ranks(NetworkDescription network, int ranks) {
  require_ranks(network, ranks);
  network.ranks = ranks;
  return network;
}

std::vector<int> host_of_each_rank(const NetworkDescription& network, int ranks) {
  require_ranks(network, ranks);
  std::vector<int> hosts(static_cast<std::size_t>(ranks));
  for (std::size_t host = 0; host < network.hosts.size(); ++host) {
    for (const int rank : network.hosts[host].ranks) {
      if (rank < ranks) hosts[static_cast<std::size_t>(rank)] = static_cast<int>(host);
    }
  }
  return hosts;
}

}  // namespace lockstep
