#include "topology/wiring.h"

#include "base/index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace lockstep {

namespace {

void add_use(Wiring::Path& path, int resource, const LinkCost& cost, double crossings, double crossings_reduced) {
  path.latency_s += cost.latency_s;
  const double seconds_per_byte = 1 / cost.bytes_per_second;
  if (seconds_per_byte == 0 && cost.message_s == 0) return;
  path.uses[path.use_count++] = {resource, cost.message_s, crossings * seconds_per_byte,
                                 crossings_reduced * seconds_per_byte};
}

std::string core_name(int rank) { return fmt::format("rank {}: core", rank); }
std::string part_name(std::string_view host, std::string_view part, int number) {
  return fmt::format("{}: {} {}", host, part, number);
}

/// Links lead from each socket to each other one.
int socket_link_number(int from, int to, int sockets) { return from * (sockets - 1) + (to < from ? to : to - 1); }
std::pair<int, int> sockets_of_link(int number, int sockets) {
  const int from = number / (sockets - 1);
  const int to = number % (sockets - 1);
  return {from, to < from ? to : to + 1};
}

constexpr std::string_view kOut = "out of card";
constexpr std::string_view kIn = "into card";

}  // namespace

int Wiring::add(Kind kind, int host, int count) {
  const int first = static_cast<int>(resources_.size());
  for (int index = 0; index < count; ++index) resources_.push_back({kind, host, index});
  return first;
}

Wiring::Wiring(NetworkDescription network) : network_(std::move(network)), places_(at(network_.ranks)) {
  add(Kind::kCore, 0, network_.ranks);
  std::vector<bool> has_ranks(network_.racks.size());
  for (int host = 0; host < static_cast<int>(network_.hosts.size()); ++host) {
    const HostDescription& description = network_.hosts[at(host)];
    const auto is_here = [&](int rank) { return rank < network_.ranks; };
    hosts_.emplace_back();
    if (std::none_of(description.ranks.begin(), description.ranks.end(), is_here)) continue;
    hosts_.back() = {.memory = add(Kind::kMemory, host, description.sockets),
                     .socket_link = add(Kind::kSocketLink, host, description.sockets * (description.sockets - 1)),
                     .nic_out = add(Kind::kNicOut, host, description.nics),
                     .nic_in = add(Kind::kNicIn, host, description.nics)};
    const auto places = static_cast<int>(description.ranks.size());
    for (int local = 0; local < places; ++local) {
      const int rank = description.ranks[at(local)];
      if (!is_here(rank)) continue;
      resources_[at(rank)].host = host;
      places_[at(rank)] = {host, local * description.sockets / places, local * description.nics / places};
    }
    if (description.rack >= 0) has_ranks[at(description.rack)] = true;
  }
  for (int rack = 0; rack < static_cast<int>(network_.racks.size()); ++rack) {
    const int count = has_ranks[at(rack)] ? 1 : 0;
    rack_up_.push_back(add(Kind::kRackUp, rack, count));
    rack_down_.push_back(add(Kind::kRackDown, rack, count));
  }
}

Wiring::Path Wiring::path(int from, int to) const {
  const Place& source = places_[at(from)];
  const Place& target = places_[at(to)];
  const HostDescription& host = network_.hosts[at(target.host)];
  Path path;
  if (source.host != target.host) {
    cross_network(path, source, target);
    return path;
  }
  const HostResources& resources = hosts_[at(target.host)];
  add_use(path, core_of(to), host.core, 1, 1);
  if (source.socket == target.socket) {
    add_use(path, resources.memory + target.socket, host.memory, 2, 3);
    return path;
  }
  add_use(path, resources.memory + source.socket, host.memory, 1, 1);
  add_use(path, resources.socket_link + socket_link_number(source.socket, target.socket, host.sockets),
          host.socket_link, 1, 1);
  add_use(path, resources.memory + target.socket, host.memory, 1, 2);
  return path;
}

void Wiring::cross_network(Path& path, const Place& from, const Place& to) const {
  const HostDescription& source = network_.hosts[at(from.host)];
  const HostDescription& target = network_.hosts[at(to.host)];
  // What the memory's latency is, the network's hides.
  const auto bus = [](const HostDescription& host) {
    return LinkCost{.message_s = 0, .latency_s = 0, .bytes_per_second = host.memory.bytes_per_second};
  };
  // A message is in flight once: the slower card's latency counts.
  LinkCost out = source.nic;
  LinkCost in = target.nic;
  (out.latency_s < in.latency_s ? out : in).latency_s = 0;
  add_use(path, hosts_[at(from.host)].memory + from.socket, bus(source), 1, 1);
  add_use(path, hosts_[at(from.host)].nic_out + from.nic, out, 1, 1);
  if (source.rack != target.rack) {
    if (source.rack >= 0) add_use(path, rack_up_[at(source.rack)], network_.racks[at(source.rack)].uplink, 1, 1);
    if (target.rack >= 0) add_use(path, rack_down_[at(target.rack)], network_.racks[at(target.rack)].uplink, 1, 1);
  }
  add_use(path, hosts_[at(to.host)].nic_in + to.nic, in, 1, 1);
  add_use(path, hosts_[at(to.host)].memory + to.socket, bus(target), 1, 1);
}

std::string Wiring::name_of(int resource) const {
  const auto& [kind, host, index] = resources_[at(resource)];
  const auto of_host = [&, host = host](std::string_view part, int number) {
    return part_name(network_.hosts[at(host)].name, part, number);
  };
  const auto of_rack = [&, host = host](std::string_view part) {
    return fmt::format("rack {}: {}", network_.racks[at(host)].name, part);
  };
  switch (kind) {
    case Kind::kCore: return core_name(index);
    case Kind::kMemory: return of_host("memory", index);
    case Kind::kSocketLink: {
      const auto [from, to] = sockets_of_link(index, network_.hosts[at(host)].sockets);
      return fmt::format("{}: socket {} to {}", network_.hosts[at(host)].name, from, to);
    }
    case Kind::kNicOut: return of_host(kOut, index);
    case Kind::kNicIn: return of_host(kIn, index);
    case Kind::kRackUp: return of_rack("up");
    case Kind::kRackDown: return of_rack("down");
  }
  return "unknown";
}

std::string flat_link_name(Wiring::Kind kind, int rank) {
  if (kind == Wiring::Kind::kCore) return core_name(rank);
  return part_name(flat_host_name(rank), kind == Wiring::Kind::kNicOut ? kOut : kIn, 0);
}

}  // namespace lockstep
