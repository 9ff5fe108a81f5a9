#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// What a message costs on one part of its way: it takes the part for `message_s`, then for its bytes over the
/// bandwidth; `latency_s` passes besides, with the part free for others.
struct LinkCost {
  double message_s = 0;
  double latency_s = 0;
  double bytes_per_second = std::numeric_limits<double>::infinity();
};

/// A machine with its ranks: each socket has a memory bus, between sockets there is a link each way, and network cards
/// send and receive at once. Ranks are dealt to sockets and cards in contiguous parts.
struct HostDescription {
  std::string name;
  std::vector<int> ranks;  ///< with those of empty places
  int sockets = 1;
  int nics = 1;
  int rack = -1;         ///< index into NetworkDescription::racks; -1: beside all racks
  LinkCost core;         ///< what a rank moves by itself within the host; whoever receives does the work
  LinkCost memory;       ///< the bus of each socket: a copy crosses it twice, a reduction three times
  LinkCost socket_link;  ///< between two sockets, each way
  LinkCost nic;          ///< each card, each way
};

struct RackDescription {
  std::string name;
  LinkCost uplink;  ///< to what is outside of the rack, each way
};

/// Where ranks are and what lies between them, as a value. Ranks are 0 to ranks - 1, each on exactly one host. Hosts
/// may have places for more, which stay empty.
struct NetworkDescription {
  std::string name;
  int ranks = 0;
  double gamma_s = 0;  ///< seconds a byte that a rank reduces
  std::vector<HostDescription> hosts;
  std::vector<RackDescription> racks;
};

/// The textbook's network: every rank has one port that sends and receives at once; a message takes alpha + bytes *
/// beta of both ports it touches, and nothing else is ever full.
struct FlatCost {
  double alpha_s = 0;
  double beta_s = 0;  ///< a byte
  double gamma_s = 0;
};
NetworkDescription flat_network(int ranks, const FlatCost& cost);
/// Of its host that has this rank.
std::string flat_host_name(int rank);

/// No description is longer, and no line of one.
inline constexpr std::size_t kMostNetworkTextBytes = std::size_t{16} << 20;
inline constexpr std::size_t kMostNetworkLineBytes = std::size_t{64} << 10;

/// Reads a description in TOML (docs/design/planner.md shows one). Throws Error (kInvalidArgument) with `source_name`,
/// the line, what is wrong and what to write.
NetworkDescription parse_network(std::string_view text, const std::string& source_name);

/// The first `ranks` of its ranks, where they were; the places of the others are empty. Throws Error (kInvalidArgument)
/// if it has fewer.
NetworkDescription first_ranks(NetworkDescription network, int ranks);

/// The host of each of the first `ranks` ranks, as an index into `hosts`. Throws as first_ranks().
std::vector<int> host_of_each_rank(const NetworkDescription& network, int ranks);

}  // namespace lockstep
