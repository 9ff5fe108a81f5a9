#include "transport/tcp/join.h"

#include "base/environment.h"
#include "transport/tcp/gate.h"
#include "transport/tcp/turns.h"
#include "transport/verdict.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <thread>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLastTry{50};

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

double seconds(milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

/// One rank's connections in the making.
class Joiner {
 public:
  Joiner(const JoinRequest& request, Deadline deadline)
      : request_(request),
        deadline_(deadline),
        credentials_{request.secret.value_or(Secret()), request.job},
        addresses_(index(request.size)) {
    host_.rank = request.rank;
    host_.here = request.here;
    host_.listen_on = request.listen_on;
    host_.secret = request.secret;
    host_.links.resize(index(request.size));
  }

  Host lead(FileDescriptor listener) {
    listens_on_ = Address::of(listener);
    Gate gate(std::move(listener), credentials_, 0);
    try {
      for (int present = 1; present < request_.size; ++present) admit(gate, Channel::kControl, "to join");
    } catch (const Error& error) {
      tell_all(Verdict::no(error));
      throw;
    }
    if (all_on_loopback()) host_.piece_bytes = piece_bytes_over_loopback(request_.here.ranks);
    tell_all(Verdict::yes());
    admit_rest(gate, kChannels - 1);
    return std::move(host_);
  }

  Host follow(const Address& meeting) {
    FileDescriptor first = connect(0, meeting);
    const Address own =
        request_.listen_on.empty() ? Address::of(first).with_port(0) : Address::resolve(request_.listen_on, 0);
    FileDescriptor listener = open_listener(request_.rank, own, request_.secret.has_value());
    listens_on_ = Address::of(listener);
    if (!greet(first, 0, Channel::kControl)) first = connect_and_greet(0, meeting, Channel::kControl);
    keep(0, Channel::kControl, std::move(first));
    hear_verdict();
    for (const Channel channel : {Channel::kData, Channel::kMessages}) {
      keep(0, channel, connect_and_greet(0, meeting, channel));
    }
    for (int peer = 1; peer < request_.rank; ++peer) {
      for (const Channel channel : {Channel::kControl, Channel::kData, Channel::kMessages}) {
        keep(peer, channel, connect_and_greet(peer, Address::from_wire(addresses_[index(peer)]), channel));
      }
    }
    Gate gate(std::move(listener), credentials_, request_.rank);
    admit_rest(gate, kChannels);
    return std::move(host_);
  }

 private:
  /// Whether every other rank takes connections where only this machine can make them.
  bool all_on_loopback() const {
    return std::all_of(addresses_.begin() + 1, addresses_.end(),
                       [](const Address::Wire& one) { return Address::from_wire(one).is_loopback(); });
  }

  FileDescriptor& place(int peer, Channel channel) {
    Host::Link& link = host_.links[index(peer)];
    switch (channel) {
      case Channel::kControl: return link.control;
      case Channel::kData: return link.data;
      case Channel::kMessages: return link.messages;
    }
    throw std::logic_error("no such channel");
  }

  void keep(int peer, Channel channel, FileDescriptor socket) {
    prepare(socket, request_.here.ranks);
    if (channel == Channel::kControl) notice_silence(socket);
    place(peer, channel) = std::move(socket);
  }

  FileDescriptor connect(int peer, const Address& address) {
    FileDescriptor socket = connect_to(address, deadline_);
    if (!socket) throw_waited(peer, fmt::format("to appear at {}", address.to_string()));
    return socket;
  }

  bool greet(const FileDescriptor& socket, int peer, Channel channel) {
    const Hello hello{.from = request_.rank,
                      .to = peer,
                      .size = request_.size,
                      .channel = channel,
                      .listens_on = listens_on_.to_wire(),
                      .unused = 0,
                      .nonce = {}};
    try {
      return introduce(socket, credentials_, hello, deadline_);
    } catch (const Error& error) {
      throw Error(error.code(), fmt::format("Rank {} could not join its job: {}", request_.rank, error.what()),
                  error.context());
    }
  }

  /// A full house closes connections; who comes again gets in.
  FileDescriptor connect_and_greet(int peer, const Address& address, Channel channel) {
    while (true) {
      FileDescriptor socket = connect(peer, address);
      if (greet(socket, peer, channel)) return socket;
      // A try that the deadline cuts short would say that nobody answered.
      if (steady_clock::now() + kLastTry >= deadline_) throw_waited(peer, "to let it in");
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  /// Lets the next rank in, by the channel that is due (any, if none is named).
  void admit(Gate& gate, std::optional<Channel> due, const char* what) {
    auto admitted = gate.admit(deadline_);
    if (!admitted) throw_missing(what, due);
    const Hello& hello = admitted->hello;
    const std::string wrong = what_is_wrong_with(hello, due);
    if (!wrong.empty()) {
      const Error error(ErrorCode::kMismatch, wrong);
      if (hello.channel == Channel::kControl) tell(admitted->socket, Verdict::no(error));
      throw error;
    }
    addresses_[index(hello.from)] = hello.listens_on;
    keep(hello.from, hello.channel, std::move(admitted->socket));
  }

  /// The ranks above this one, by so many channels each.
  void admit_rest(Gate& gate, int channels) {
    for (int due = channels * (request_.size - 1 - request_.rank); due > 0; --due) {
      admit(gate, std::nullopt, "to connect");
    }
  }

  std::string what_is_wrong_with(const Hello& hello, std::optional<Channel> due) {
    if (hello.size != request_.size) {
      return fmt::format("Rank {} says that the world has {} ranks, rank {} says {}.", hello.from, hello.size,
                         request_.rank, request_.size);
    }
    const bool known = static_cast<std::uint32_t>(hello.channel) < std::uint32_t{kChannels};
    if (!known || (due && hello.channel != *due) || hello.from <= request_.rank || hello.from >= request_.size ||
        place(hello.from, hello.channel)) {
      return fmt::format("Two processes say that they are rank {}.", hello.from);
    }
    return "";
  }

  /// Who is gone meanwhile is missed when it does not connect.
  void tell(const FileDescriptor& socket, const Verdict& verdict) {
    if (!socket) return;
    (void)send_all(socket, &verdict, sizeof verdict, deadline_);
    if (verdict.accepted == 0) return;
    (void)send_all(socket, addresses_.data(), addresses_.size() * sizeof(Address::Wire), deadline_);
    const std::uint64_t piece_bytes = host_.piece_bytes;
    (void)send_all(socket, &piece_bytes, sizeof piece_bytes, deadline_);
  }
  void tell_all(const Verdict& verdict) {
    for (int peer = 1; peer < request_.size; ++peer) tell(place(peer, Channel::kControl), verdict);
  }

  void hear_verdict() {
    // Rank 0 gives up first and says why.
    const Deadline patience = deadline_ + std::chrono::seconds(2);
    const FileDescriptor& socket = place(0, Channel::kControl);
    Verdict verdict;
    require_heard(receive_all(socket, &verdict, sizeof verdict, patience), "to let it join");
    verdict.require_accepted(request_.rank);
    const std::size_t bytes = addresses_.size() * sizeof(Address::Wire);
    std::uint64_t piece_bytes = 0;
    require_heard(receive_all(socket, addresses_.data(), bytes, patience), "to introduce the others");
    require_heard(receive_all(socket, &piece_bytes, sizeof piece_bytes, patience), "to introduce the others");
    host_.piece_bytes = piece_bytes;
  }

  /// Of rank 0.
  void require_heard(Moved heard, const char* what) const {
    if (heard == Moved::kAll) return;
    if (heard == Moved::kTimeout) throw_waited(0, what);
    throw Error(ErrorCode::kPeerDied, "Rank 0 ended while the group was being formed.",
                {.rank = request_.rank, .peer = 0});
  }

  [[noreturn]] void throw_waited(int peer, const std::string& what) const {
    throw Error(ErrorCode::kTimeout,
                fmt::format("Rank {} waited {} s for rank {} {}. Is it running, with the same {} and {}?",
                            request_.rank, seconds(request_.timeout), peer, what, "MASTER_ADDR", kPortVariable),
                {.rank = request_.rank, .peer = peer});
  }

  [[noreturn]] void throw_missing(const char* what, std::optional<Channel> due) {
    std::vector<int> missing;
    for (int peer = request_.rank + 1; peer < request_.size; ++peer) {
      if (!place(peer, due.value_or(Channel::kMessages))) missing.push_back(peer);
    }
    throw Error(
        ErrorCode::kTimeout,
        fmt::format("Rank {} waited {} s for rank{} {} {}. Were all {} ranks started, with the same MASTER_ADDR, {} "
                    "and secret?{}",
                    request_.rank, seconds(request_.timeout), missing.size() == 1 ? "" : "s", fmt::join(missing, ", "),
                    what, request_.size, kPortVariable, reached_by_none_elsewhere()),
        {.rank = request_.rank, .peer = missing.front()});
  }

  /// Where a host's own name stands for loopback, ranks of other hosts look for rank 0 at another address.
  std::string reached_by_none_elsewhere() const {
    const std::string& name = request_.meet_at;
    const std::string address = listens_on_.to_string();
    const bool is_by_name = !name.empty() && name != "localhost" && !address.starts_with(name + ":");
    if (request_.rank != 0 || !is_by_name || !listens_on_.is_loopback()) return "";
    return fmt::format(
        " Rank 0 listens on {}, which is what '{}' stands for on its machine, and which no other reaches; "
        "set MASTER_ADDR to an address that all have.",
        address, name);
  }

  const JoinRequest& request_;
  Deadline deadline_;
  Credentials credentials_;
  Address listens_on_;
  std::vector<Address::Wire> addresses_;  ///< by rank
  Host host_;
};

}  // namespace

FileDescriptor open_listener(int rank, const Address& address, bool has_secret) {
  if (!has_secret && !address.is_loopback()) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("Rank {} would listen on {}, which others can reach, and the job has no secret. Start it with "
                    "lockstep run, or name a file that all ranks can read in {}.",
                    rank, address.to_string(), kSecretFileVariable),
        {.rank = rank});
  }
  return tcp::listen_on(address);
}

Host join_at(const JoinRequest& request, const Address& meeting, FileDescriptor listener) {
  Joiner joiner(request, steady_clock::now() + request.timeout);
  return request.rank == 0 ? joiner.lead(std::move(listener)) : joiner.follow(meeting);
}

Host join_processes(const JoinRequest& request) {
  const Address meeting = Address::resolve(request.meet_at, request.port);
  const bool leads = request.rank == 0;
  return join_at(request, meeting, leads ? open_listener(0, meeting, request.secret.has_value()) : FileDescriptor());
}

}  // namespace lockstep::tcp
