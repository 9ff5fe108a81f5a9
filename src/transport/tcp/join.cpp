#include "transport/tcp/join.h"

#include "base/clock.h"
#include "base/environment.h"
#include "transport/joining.h"
#include "transport/tcp/gate.h"
#include "transport/tcp/piece_bytes.h"
#include "transport/verdict.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>
#include <stdexcept>
#include <thread>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kLastTry{50};

/// Before rank 0 gives up, the others do and tell it why: it only sees that they are late.
constexpr milliseconds kHeadStart{200};

std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

double seconds(milliseconds duration) { return static_cast<double>(duration.count()) / 1000; }

/// One rank's connections in the making.
class Joiner {
 public:
  Joiner(const JoinRequest& request, Deadline deadline)
      : request_(request),
        deadline_(deadline),
        credentials_{request.secret.value_or(Secret()), request.job},
        company_{.names = request.company.names, .look = [this] { look(); }},
        addresses_(index(request.size)),
        complete_(index(request.size)) {
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
      introduce_all();
      admit_rest(gate, kChannels - 1);
      await_all_complete();
    } catch (const Error& error) {
      tell_all(Verdict::no(as_told_by(name(0), error)));
      throw;
    }
    tell_all(Verdict::yes());
    return std::move(host_);
  }

  /// Rank 0 listens at one of the places.
  Host follow(std::span<const Address> places) {
    FileDescriptor first = connect(0, places);
    FileDescriptor listener =
        open_own_listener(name(request_.rank), request_.listen_on, Address::of(first), request_.secret.has_value());
    listens_on_ = told_to_peers(listener, Address::of(first));
    if (!greet(first, 0, Channel::kControl)) first = connect_and_greet(0, places, Channel::kControl);
    // None where the connection is over, which who hears next on it says.
    const Address meeting = Address::peer_of(first).value_or(places.front());
    keep(0, Channel::kControl, std::move(first));
    try {
      hear_introduction();
      deadline_ -= std::min<steady_clock::duration>(kHeadStart, request_.timeout / 10);
      connect_to_those_before(meeting);
      Gate gate(std::move(listener), credentials_, request_.rank);
      admit_rest(gate, kChannels);
      tell(0, Verdict::yes());
      hear_verdict("to let all begin");
    } catch (const Error& error) {
      tell(0, Verdict::no(as_told_by(name(request_.rank), error)));
      throw;
    }
    return std::move(host_);
  }

 private:
  int name(int rank) const { return company_.name(rank); }

  /// By the addresses that rank 0 has told all others, alike on every rank: whether each of these takes connections
  /// where only this machine can make them.
  void choose_pieces() {
    const bool all_on_loopback = std::all_of(addresses_.begin() + 1, addresses_.end(), [](const Address::Wire& one) {
      return Address::from_wire(one).is_loopback();
    });
    if (all_on_loopback) host_.piece_bytes = kPieceBytesOverLoopback;
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

  FileDescriptor connect(int peer, std::span<const Address> places) {
    FileDescriptor socket = connect_to_one_of(places, deadline_, company_.look);
    if (!socket) {
      throw_waited(peer, fmt::format("to appear at {} (the last try: {})", in_words(places), std::strerror(errno)));
    }
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
      return introduce(socket, credentials_, hello, deadline_, company_);
    } catch (const Error& error) {
      if (in_trouble_) throw;
      throw Error(error.code(), fmt::format("Rank {} could not join its job: {}", name(request_.rank), error.what()),
                  error.context());
    }
  }

  /// A full house closes connections; who comes again gets in.
  FileDescriptor connect_and_greet(int peer, std::span<const Address> places, Channel channel) {
    while (true) {
      FileDescriptor socket = connect(peer, places);
      if (greet(socket, peer, channel)) return socket;
      // A try that the deadline cuts short would say that nobody answered.
      if (steady_clock::now() + kLastTry >= deadline_) throw_waited(peer, "to let it in");
      look();
      std::this_thread::sleep_for(milliseconds(5));
    }
  }

  void connect_to_those_before(const Address& meeting) {
    for (const Channel channel : {Channel::kData, Channel::kMessages}) {
      keep(0, channel, connect_and_greet(0, std::span(&meeting, 1), channel));
    }
    for (int peer = 1; peer < request_.rank; ++peer) {
      const Address place = Address::from_wire(addresses_[index(peer)]);
      for (const Channel channel : {Channel::kControl, Channel::kData, Channel::kMessages}) {
        keep(peer, channel, connect_and_greet(peer, std::span(&place, 1), channel));
      }
    }
  }

  /// None at the deadline.
  std::optional<Gate::Admitted> next_at(Gate& gate) {
    while (true) {
      if (auto admitted = gate.admit(Company::next_look(deadline_))) return admitted;
      look();
      if (steady_clock::now() >= deadline_) return std::nullopt;
    }
  }

  /// Lets the next rank in, by the channel that is due (any, if none is named).
  void admit(Gate& gate, std::optional<Channel> due, const char* what) {
    auto admitted = next_at(gate);
    if (!admitted) throw_missing(what, due);
    const Hello& hello = admitted->hello;
    const std::string wrong = what_is_wrong_with(hello, due);
    if (!wrong.empty()) {
      const Error error(ErrorCode::kMismatch, wrong, {.rank = name(request_.rank), .peer = name(hello.from)});
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
      return fmt::format("Rank {} says that the world has {} ranks, rank {} says {}.", name(hello.from), hello.size,
                         name(request_.rank), request_.size);
    }
    const bool known = static_cast<std::uint32_t>(hello.channel) < std::uint32_t{kChannels};
    if (!known || (due && hello.channel != *due) || hello.from <= request_.rank || hello.from >= request_.size ||
        place(hello.from, hello.channel)) {
      return fmt::format("Two processes say that they are rank {}.", name(hello.from));
    }
    return "";
  }

  /// Who is gone meanwhile is missed by the next look.
  void tell(const FileDescriptor& socket, const Verdict& verdict) {
    if (socket) (void)send_all(socket, &verdict, sizeof verdict, deadline_);
  }
  void tell(int peer, const Verdict& verdict) { tell(place(peer, Channel::kControl), verdict); }
  void tell_all(const Verdict& verdict) {
    for (int peer = 1; peer < request_.size; ++peer) tell(peer, verdict);
  }

  void introduce_all() {
    tell_all(Verdict::yes());
    for (int peer = 1; peer < request_.size; ++peer) {
      const FileDescriptor& socket = place(peer, Channel::kControl);
      (void)send_all(socket, addresses_.data(), addresses_.size() * sizeof(Address::Wire), deadline_);
    }
    choose_pieces();
  }

  void hear_introduction() {
    hear_verdict("to let it join");
    hear(addresses_.data(), addresses_.size() * sizeof(Address::Wire), "to introduce the others");
    choose_pieces();
    introduced_ = true;
  }

  void hear_verdict(const char* what) {
    Verdict verdict;
    hear(&verdict, sizeof verdict, what);
    verdict.require_accepted(name(request_.rank));
  }

  /// From rank 0, which is late with `what` otherwise.
  void hear(void* data, std::size_t bytes, const char* what) {
    // Rank 0 gives up first and says why.
    const Deadline patience = deadline_ + std::chrono::seconds(2);
    const Moved heard = receive_all(place(0, Channel::kControl), data, bytes, patience, request_.company.look);
    if (heard == Moved::kTimeout) throw_waited(0, what);
    if (heard == Moved::kClosed) throw_ended(0);
  }

  /// Until each has told rank 0 that it is connected with all others.
  void await_all_complete() {
    while (!are_all_complete()) {
      std::vector<pollfd> polled;
      for (int peer = 1; peer < request_.size; ++peer) {
        if (!complete_[index(peer)]) polled.push_back({place(peer, Channel::kControl).get(), POLLIN, 0});
      }
      ::poll(polled.data(), polled.size(), milliseconds_until(Company::next_look(deadline_)));
      look();
      // The last verdict may be there and the time over at one look.
      if (steady_clock::now() < deadline_ || are_all_complete()) continue;
      throw_late("to connect to the others", [&](int peer) { return !complete_[index(peer)]; });
    }
  }
  bool are_all_complete() const { return std::find(complete_.begin() + 1, complete_.end(), false) == complete_.end(); }

  /// Throws why there is nothing to wait for: what has become of the company, or of one that joins. Rank 0 hears that
  /// of all, and the others of rank 0.
  void look() {
    in_trouble_ = true;
    request_.company.look_around();
    if (request_.rank == 0) {
      for (int peer = 1; peer < request_.size; ++peer) listen_to(peer);
    } else if (introduced_) {
      listen_to(0);
    }
    in_trouble_ = false;
  }

  /// A rank that joins says nothing but that it is connected with all, to rank 0, or why it gives up.
  void listen_to(int peer) {
    const FileDescriptor& socket = place(peer, Channel::kControl);
    pollfd polled{socket.get(), POLLIN, 0};
    if (::poll(&polled, 1, 0) <= 0) return;  // passed over where there is none yet
    Verdict said;
    if (receive_all(socket, &said, sizeof said, deadline_) != Moved::kAll) throw_ended(peer);
    said.require_accepted(name(request_.rank));
    complete_[index(peer)] = true;
  }

  [[noreturn]] void throw_ended(int peer) const {
    request_.company.await_last_word();
    throw Error(ErrorCode::kPeerDied, fmt::format("Rank {} ended while the group was being formed.", name(peer)),
                {.rank = name(request_.rank), .peer = name(peer)});
  }

  [[noreturn]] void throw_waited(int peer, const std::string& what) const {
    throw Error(
        ErrorCode::kTimeout,
        fmt::format("Rank {} waited {} s for rank {} {}. Is it running, with the same {} and {}?", name(request_.rank),
                    seconds(request_.timeout), name(peer), what, "MASTER_ADDR", kPortVariable),
        {.rank = name(request_.rank), .peer = name(peer)});
  }

  [[noreturn]] void throw_missing(const char* what, std::optional<Channel> due) {
    throw_late(what, [&](int peer) { return !place(peer, due.value_or(Channel::kMessages)); });
  }

  template <class Late>
  [[noreturn]] void throw_late(const char* what, const Late& is_late) const {
    std::vector<int> missing;
    for (int peer = request_.rank + 1; peer < request_.size; ++peer) {
      if (is_late(peer)) missing.push_back(name(peer));
    }
    throw Error(
        ErrorCode::kTimeout,
        fmt::format("Rank {} waited {} s for {} {}. Were all {} ranks started, with the same MASTER_ADDR, {} and "
                    "secret?{}",
                    name(request_.rank), seconds(request_.timeout), ranks_in_words(missing), what, request_.size,
                    kPortVariable, reached_by_none_elsewhere()),
        {.rank = name(request_.rank), .peer = missing.front()});
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
  Company company_;  ///< whose look is this one's
  Address listens_on_;
  std::vector<Address::Wire> addresses_;  ///< by rank
  std::vector<bool> complete_;            ///< by rank, rank 0's: whether it is connected with all
  bool introduced_ = false;               ///< by rank 0
  bool in_trouble_ = false;               ///< the look threw
  Host host_;
};

/// Without one, any process that can reach the address could join.
void require_secret(int rank, const Address& address, bool has_secret) {
  if (has_secret || address.is_loopback()) return;
  throw Error(
      ErrorCode::kInvalidArgument,
      fmt::format("Rank {} would listen on {}, which others can reach, and the job has no secret. Start it with "
                  "lockstep run, or name a file that all ranks can read in {}.",
                  rank, address.to_string(), kSecretFileVariable),
      {.rank = rank});
}

void require_room(const JoinRequest& request) {
  require_room_for(request.size, {.rank = request.company.name(request.rank), .a_peer = kChannels});
}

}  // namespace

FileDescriptor open_own_listener(int rank, const std::string& listen_on, const Address& own, bool has_secret) {
  const bool is_given = !listen_on.empty();
  const std::string remedy = is_given ? fmt::format("{} is '{}': set it to an address of this machine, or leave it out",
                                                    kAddressVariable, listen_on)
                                      : std::string();
  const Address address = is_given ? Address::resolve(listen_on, 0, remedy) : own.with_port(0);
  if (address.is_any() && address.family() != own.family()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("Rank {} would take no connection to {}, by which it reaches rank 0; {}.", rank,
                            own.to_string(), remedy),
                {.rank = rank});
  }
  require_secret(rank, address, has_secret);
  return tcp::listen_on(address, remedy);
}

Address told_to_peers(const FileDescriptor& listener, const Address& own) {
  const Address address = Address::of(listener);
  return address.is_any() ? own.with_port(address.to_wire().port) : address;
}

Host join_at(const JoinRequest& request, const Address& meeting, FileDescriptor listener) {
  require_room(request);
  Joiner joiner(request, steady_clock::now() + request.timeout);
  return request.rank == 0 ? joiner.lead(std::move(listener)) : joiner.follow(std::span(&meeting, 1));
}

Host join_processes(const JoinRequest& request) {
  require_room(request);
  const Deadline deadline = steady_clock::now() + request.timeout;
  const std::string remedy = fmt::format(
      "rank 0 listens at MASTER_ADDR ('{}') and {} ({}): set them, alike for all ranks, to an address of its "
      "machine and a port that is free there",
      request.meet_at, kPortVariable, request.port);
  // A machine knows its own name; the others may hear of it only once rank 0's is up.
  const NamePatience patience{.timeout = request.rank == 0 ? milliseconds(0) : request.timeout,
                              .lookup = request.lookup};
  const std::vector<Address> places = Address::resolve_all(request.meet_at, request.port, remedy, patience);
  Joiner joiner(request, deadline);
  if (request.rank != 0) return joiner.follow(places);
  FileDescriptor listener = listen_on_one_of(places, remedy);
  require_secret(0, Address::of(listener), request.secret.has_value());
  return joiner.lead(std::move(listener));
}

}  // namespace lockstep::tcp
