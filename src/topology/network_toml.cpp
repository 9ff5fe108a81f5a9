// The text form of a network. Every mistake is answered with its line and with what to write.
#include "base/nearest.h"
#include "base/sentence.h"
#include "base/units.h"
#include "topology/network.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <toml++/toml.h>
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>

namespace lockstep {

namespace {

constexpr std::int64_t kMostNetworkRanks = 1 << 20;
constexpr int kMostSockets = 64;
constexpr int kMostNics = 64;
constexpr std::ptrdiff_t kMostDotsALine = 128;
constexpr std::int64_t kMostLinks = 1 << 24;  ///< between sockets and through cards, of all hosts together

class Reader {
 public:
  Reader(std::string_view text, const std::string& source_name) : source_name_(source_name) {
    check_lengths(text);
    try {
      root_ = toml::parse(text, source_name);
    } catch (const toml::parse_error& error) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("{}, line {}: this is not TOML: {}.", source_name, error.source().begin.line,
                              std::string_view(error.description())));
    }
  }

  NetworkDescription read() {
    check_keys(root_, {"name", "gamma", "host", "rack"});
    network_.name = text(root_, "name").value_or(source_name_);
    if (const auto gamma = text(root_, "gamma")) {
      network_.gamma_s = converted(root_, "gamma", [&] { return parse_seconds_per_byte(*gamma); });
    }
    for_each_table("rack", [&](const toml::table& table) { read_rack(table); });
    for_each_table("host", [&](const toml::table& table) { take_name(table); });
    for_each_table("host", [&](const toml::table& table) { read_host(table); });
    if (network_.hosts.empty()) {
      fail(root_, "there is no host; write at least one, as in: [[host]] and below it ranks = 4");
    }
    check_ranks();
    return std::move(network_);
  }

 private:
  [[noreturn]] void fail(const toml::node& where, const std::string& what) const {
    fail(std::max(1U, where.source().begin.line), what);
  }
  [[noreturn]] void fail(std::size_t line, const std::string& what) const {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}, line {}: {}", source_name_, line, with_full_stop(what)));
  }

  /// A key of some hundred thousand parts would overflow the stack of the library that reads them, and so would some
  /// hundred values within each other whose keys have thousands.
  void check_lengths(std::string_view text) const {
    if (text.size() > kMostNetworkTextBytes) {
      const auto lines = std::count(text.begin(), text.end(), '\n');
      fail(static_cast<std::size_t>(lines),
           fmt::format("the file is longer than {}", format_bytes(kMostNetworkTextBytes)));
    }
    std::size_t line = 1;
    for (std::size_t begin = 0; begin < text.size(); ++line) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end - begin > kMostNetworkLineBytes) {
        fail(line, fmt::format("the line is longer than {}; a list may go over several",
                               format_bytes(kMostNetworkLineBytes)));
      }
      if (std::count(text.begin() + begin, text.begin() + end, '.') > kMostDotsALine) {
        fail(line, fmt::format("the line has more than {} dots; a list may go over several", kMostDotsALine));
      }
      begin = end + 1;
    }
  }

  void check_keys(const toml::table& table, const std::vector<std::string_view>& known) const {
    for (const auto& [key, value] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      fail(value, fmt::format("there is no key '{}' here. {}", key.str(), suggestion(key.str(), known)));
    }
  }

  template <class Use>
  void for_each_table(const char* key, const Use& use) const {
    const toml::node* node = root_.get(key);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    if (array == nullptr || !array->is_homogeneous(toml::node_type::table)) {
      fail(*node, fmt::format("'{0}' is a list of tables; write [[{0}]] above each", key));
    }
    for (const toml::node& entry : *array) use(*entry.as_table());
  }

  std::optional<std::string> text(const toml::table& table, const char* key) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return std::nullopt;
    if (!node->is_string()) fail(*node, fmt::format("'{}' is a text in quotes", key));
    std::string value = **node->as_string();
    // A terminal would obey them.
    const auto is_control = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
    if (std::ranges::any_of(value, is_control))
      fail(*node, fmt::format("'{}' has control characters; leave them out", key));
    return value;
  }

  int number(const toml::table& table, const char* key, int fallback, int most = kMostNetworkRanks) const {
    const toml::node* node = table.get(key);
    if (node == nullptr) return fallback;
    const auto value = node->value_exact<std::int64_t>();
    if (!value || *value < 1 || *value > most) {
      fail(*node, fmt::format("'{}' is a whole number from 1 to {}", key, most));
    }
    return static_cast<int>(*value);
  }

  /// What a parser of units says, with the line.
  template <class Parse>
  double converted(const toml::table& table, const char* key, const Parse& parse) const {
    try {
      return parse();
    } catch (const Error& error) {
      fail(*table.get(key), fmt::format("{}: {}", key, error.what()));
    }
  }

  LinkCost link(const toml::table& table, const char* key) const {
    LinkCost cost;
    const toml::node* node = table.get(key);
    if (node == nullptr) return cost;
    const toml::table* entries = node->as_table();
    if (entries == nullptr) {
      fail(*node,
           fmt::format("'{}' is written {{ bandwidth = \"25GB/s\", message = \"1us\", latency = \"1us\" }}", key));
    }
    check_keys(*entries, {"bandwidth", "message", "latency"});
    const auto seconds = [&](const char* name) {
      const auto value = text(*entries, name);
      if (!value) return 0.0;
      return converted(*entries, name, [&] { return parse_seconds(*value); });
    };
    cost.message_s = seconds("message");
    cost.latency_s = seconds("latency");
    if (const auto value = text(*entries, "bandwidth")) {
      cost.bytes_per_second = converted(*entries, "bandwidth", [&] { return parse_bandwidth(*value); });
    }
    return cost;
  }

  void read_rack(const toml::table& table) {
    check_keys(table, {"name", "uplink"});
    const auto name = text(table, "name");
    if (!name) fail(table, "a rack needs a name, which hosts refer to, as in: name = \"left\"");
    if (!rack_numbers_.emplace(*name, static_cast<int>(network_.racks.size())).second) {
      fail(table, fmt::format("there are two racks '{}'; names differ", *name));
    }
    network_.racks.push_back({*name, link(table, "uplink")});
  }

  void read_host(const toml::table& table) {
    check_keys(table, {"name", "count", "ranks", "sockets", "nics", "rack", "core", "memory", "socket_link", "nic"});
    HostDescription host{.name = text(table, "name").value_or("host"),
                         .ranks = {},
                         .sockets = number(table, "sockets", 1, kMostSockets),
                         .nics = number(table, "nics", 1, kMostNics),
                         .rack = rack_of(table),
                         .core = link(table, "core"),
                         .memory = link(table, "memory"),
                         .socket_link = link(table, "socket_link"),
                         .nic = link(table, "nic")};
    const toml::node* ranks = table.get("ranks");
    const int count = number(table, "count", 1);
    links_ += count * (std::int64_t{host.sockets} * host.sockets + std::int64_t{2} * host.nics);
    if (links_ > kMostLinks) {
      fail(table, fmt::format("that makes more than {} links between sockets and through cards", kMostLinks));
    }
    if (ranks != nullptr && ranks->is_array()) {
      if (count > 1) fail(*ranks, "hosts with count take a number of ranks each; a list of ranks is for one host");
      if (has_number_) fail(*ranks, "either every host lists its ranks or none does");
      has_list_ = true;
      for (const toml::node& rank : *ranks->as_array()) {
        const auto value = rank.value_exact<std::int64_t>();
        if (!value || *value < 0 || *value >= kMostNetworkRanks) fail(rank, "a rank is a whole number from 0 up");
        host.ranks.push_back(static_cast<int>(*value));
        listed_.push_back(&rank);
      }
      if (!table.contains("name")) host.name = free_name(network_.hosts.size());
      next_rank_ += static_cast<int>(host.ranks.size());
      return network_.hosts.push_back(std::move(host));
    }
    if (has_list_) fail(table, "either every host lists its ranks or none does");
    has_number_ = true;
    const int ranks_each = number(table, "ranks", 1);
    if (std::int64_t{count} * ranks_each + next_rank_ > kMostNetworkRanks) {
      fail(table, fmt::format("that makes more than {} ranks", kMostNetworkRanks));
    }
    for (int i = 0; i < count; ++i) {
      HostDescription& added = network_.hosts.emplace_back(host);
      if (!table.contains("name")) {
        added.name = free_name(network_.hosts.size() - 1);
      } else if (count > 1) {
        added.name += std::to_string(network_.hosts.size() - 1);
        take_name(added.name, *table.get("name"));
      }
      for (int rank = 0; rank < ranks_each; ++rank) added.ranks.push_back(next_rank_++);
    }
  }

  /// Of one host that has one. What others are called depends on their place, and comes after these.
  void take_name(const toml::table& table) {
    const auto name = text(table, "name");
    if (name && number(table, "count", 1) == 1) take_name(*name, *table.get("name"));
  }
  void take_name(const std::string& name, const toml::node& where) {
    if (!names_.insert(name).second) fail(where, fmt::format("there are two hosts '{}'; names differ", name));
  }
  /// Of the host at this place, which has none: "host" and the place, or the next number that nobody has.
  std::string free_name(std::size_t place) {
    next_number_ = std::max(next_number_, place);
    while (!names_.insert("host" + std::to_string(next_number_)).second) ++next_number_;
    return "host" + std::to_string(next_number_++);
  }

  int rack_of(const toml::table& table) const {
    const auto name = text(table, "rack");
    if (!name) return -1;
    const auto rack = rack_numbers_.find(*name);
    if (rack == rack_numbers_.end()) {
      fail(*table.get("rack"), fmt::format("there is no rack '{0}'; write [[rack]] and name = \"{0}\"", *name));
    }
    return rack->second;
  }

  /// Every rank from 0 up is on exactly one host.
  void check_ranks() {
    network_.ranks = next_rank_;
    if (next_rank_ == 0) fail(*root_.get("host"), "no host has a rank; write how many each has, as in: ranks = 4");
    std::vector<bool> placed(static_cast<std::size_t>(next_rank_));
    for (const toml::node* node : listed_) {
      const auto rank = static_cast<std::size_t>(node->value_or<std::int64_t>(0));
      if (rank >= placed.size() || placed[rank]) {
        fail(*node, fmt::format("hosts list {} ranks, so each of 0 to {} stands once; {} does not", next_rank_,
                                next_rank_ - 1, rank));
      }
      placed[rank] = true;
    }
  }

  std::string source_name_;
  toml::table root_;
  NetworkDescription network_;
  std::map<std::string, int> rack_numbers_;
  std::set<std::string> names_;  ///< of hosts
  std::size_t next_number_ = 0;  ///< of those without one
  int next_rank_ = 0;
  std::vector<const toml::node*> listed_;  ///< the ranks of lists, in the order of their hosts
  std::int64_t links_ = 0;
  bool has_list_ = false;
  bool has_number_ = false;
};

}  // namespace

NetworkDescription parse_network(std::string_view text, const std::string& source_name) {
  return Reader(text, source_name).read();
}

}  // namespace lockstep
