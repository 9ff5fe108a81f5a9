#pragma once

#include "topology/network.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace lockstep {

/// What transfers share, and what a transfer from one rank to another takes of it.
///
/// A resource is anything that is busy while a message uses it and is shared in fair parts by all that want it at once:
/// a core, a memory bus, a link in one direction. Hosts and racks without a rank have none.
class Wiring {
 public:
  enum class Kind : std::uint8_t { kCore, kMemory, kSocketLink, kNicOut, kNicIn, kRackUp, kRackDown };

  struct Resource {
    Kind kind;
    int host;   ///< of a rack: the rack
    int index;  ///< socket, card or rank; of a socket link: its number, by from and then to
  };

  /// Seconds of the resource that a message takes.
  struct Use {
    int resource;
    double seconds_per_message;
    double seconds_per_byte;          ///< of a copy
    double seconds_per_byte_reduced;  ///< of a reduction
  };

  /// Not longer than this: core, two buses and a socket link, or two buses, two cards and two uplinks.
  static constexpr std::size_t kMostUses = 6;
  struct Path {
    double latency_s = 0;
    std::size_t use_count = 0;
    std::array<Use, kMostUses> uses{};
  };

  explicit Wiring(NetworkDescription network);

  Path path(int from, int to) const;
  int core_of(int rank) const { return rank; }  ///< the resource that reduces for this rank

  const NetworkDescription& network() const { return network_; }
  const std::vector<Resource>& resources() const { return resources_; }
  /// "node1: out of card 0", for people.
  std::string name_of(int resource) const;

 private:
  struct Place {
    int host = 0;
    int socket = 0;
    int nic = 0;
  };
  struct HostResources {
    int memory = 0;  ///< the first socket's, others follow
    int socket_link = 0;
    int nic_out = 0;
    int nic_in = 0;
  };

  int add(Kind kind, int host, int count);
  void cross_network(Path& path, const Place& from, const Place& to) const;

  NetworkDescription network_;
  std::vector<Place> places_;  ///< by rank
  std::vector<HostResources> hosts_;
  std::vector<int> rack_up_;
  std::vector<int> rack_down_;
  std::vector<Resource> resources_;
};

/// What name_of() says of a rank's core or port on the flat network, without its wiring.
std::string flat_link_name(Wiring::Kind kind, int rank);

}  // namespace lockstep
