#include "transport/tcp/tcp_socket.h"

#include "base/clock.h"
#include "transport/meeting.h"

#include "transport/tcp/send_buffer.h"
#include "transport/tcp/turns.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <linux/sockios.h>  // SIOCOUTQ
#include <lockstep/error.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <thread>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kRetry{20};

/// A socket for that address, or one from there; empty, with that in errno, where the system has none of its family.
/// On the way to ourselves nothing is lost, so that there is nothing to control; but a connection that was ever made
/// with BBR, the default of some systems, is paced by a timer, whatever it is told afterwards.
FileDescriptor make_socket(const Address& address) {
  FileDescriptor socket(::socket(address.family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
  if (!socket && errno == EAFNOSUPPORT) return socket;
  if (!socket) throw_system_error("Making a TCP socket");
  constexpr std::string_view kEverywhere = "reno";
  if (address.is_loopback())
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, kEverywhere.data(), kEverywhere.size());
  return socket;
}

void set_option(const FileDescriptor& socket, int level, int option, int value) {
  // Each is for speed or for noticing sooner; where the system refuses one, the connection works without.
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

bool wait_until_ready(const FileDescriptor& socket, short events, Deadline deadline, const Look& look) {
  pollfd polled{socket.get(), events, 0};
  while (true) {
    const Deadline next = look ? Company::next_look(deadline) : deadline;
    const int ready = ::poll(&polled, 1, milliseconds_until(next));
    const int error = errno;  // the look has errors of its own
    if (ready > 0) return true;
    if (look) look();
    if (ready == 0 && steady_clock::now() >= deadline) return false;
    if (ready < 0 && error != EINTR) return false;
  }
}

/// 0 once connected, else errno.
int await_connection(const FileDescriptor& socket, const Address& address, Deadline deadline, const Look& look) {
  if (::connect(socket.get(), address.get(), address.bytes()) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  if (!wait_until_ready(socket, POLLOUT, deadline, look)) return ETIMEDOUT;
  int error = 0;
  socklen_t bytes = sizeof error;
  return ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

/// At the end of a sentence; empty where there is none.
std::string as_clause(const std::string& remedy) { return remedy.empty() ? remedy : "; " + remedy; }

/// Of a name: whether it may stand for an address later, for whoever knows it is being started as well.
bool may_be_known_later(int error) { return error == EAI_AGAIN || error == EAI_NONAME || error == EAI_NODATA; }

/// What `ask` says of a name, unless another answer may come by the deadline.
template <class Ask>
int ask_until(Deadline deadline, const Ask& ask) {
  constexpr milliseconds kBetweenLookups{100};
  while (true) {
    const int error = ask();
    const Deadline now = steady_clock::now();
    if (!may_be_known_later(error) || now >= deadline) return error;
    std::this_thread::sleep_until(std::min(deadline, now + kBetweenLookups));
  }
}

/// `move(done)` moves what it can of the rest; `waits()` says whether more can be moved in time.
template <class Move, class Wait>
Moved move_all(std::size_t bytes, Move move, Wait waits) {
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t moved = move(done);
    if (moved > 0) {
      done += static_cast<std::size_t>(moved);
    } else if (moved == 0 || (errno != EAGAIN && errno != EINTR)) {
      return Moved::kClosed;
    } else if (!waits()) {
      return Moved::kTimeout;
    }
  }
  return Moved::kAll;
}

/// Takes what has come; whether more may come.
bool discard_input(int socket) {
  constexpr int kMostReads = 1024;  // who sends on and on would hold us for ever
  std::array<std::byte, 64 << 10> unread;
  for (int reads = 0; reads < kMostReads; ++reads) {
    const ssize_t got = ::recv(socket, unread.data(), unread.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EAGAIN) return true;
    if (got == 0 || (got < 0 && errno != EINTR)) return false;
  }
  return true;
}

/// Whether a socket on which nothing more is sent can be closed without loss. One that is closed answers what was not
/// read, and what comes then, with a reset, and drops what has not arrived; what has, the peer keeps.
bool is_closable(const pollfd& socket) {
  if (socket.revents != 0 && !discard_input(socket.fd)) return true;
  constexpr int kEnd = 1;  // which counts as a byte, and may be lost
  int not_arrived = 0;
  return ::ioctl(socket.fd, SIOCOUTQ, &not_arrived) != 0 || not_arrived <= kEnd;
}

}  // namespace

Address::Address(const addrinfo& found) { std::memcpy(&storage_, found.ai_addr, found.ai_addrlen); }

std::vector<Address> Address::resolve_all(const std::string& host, int port, const std::string& remedy,
                                          const NamePatience& patience) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ask_until(steady_clock::now() + patience.timeout, [&] {
    return patience.lookup(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  });
  if (error != 0) {
    const bool was_asked_again = may_be_known_later(error) && patience.timeout.count() > 0;
    const std::string for_how_long = was_asked_again ? fmt::format(", nor did it become one in {} s",
                                                                   static_cast<double>(patience.timeout.count()) / 1000)
                                                     : std::string();
    throw Error(ErrorCode::kInvalidArgument, fmt::format("'{}' is no address that this machine knows ({}){}{}.", host,
                                                         ::gai_strerror(error), for_how_long, as_clause(remedy)));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owned(found, ::freeaddrinfo);
  std::vector<Address> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) addresses.push_back(Address(*one));
  const std::string first = addresses.front().to_string();
  std::erase_if(addresses, [](const Address& address) { return address.is_link_local(); });
  if (addresses.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' is {}, an address of one link only, and ranks cannot tell each other which link; use "
                            "an IPv4 address, or an IPv6 address that does not begin with fe80{}.",
                            host, first, as_clause(remedy)));
  }
  return addresses;
}

Address Address::resolve(const std::string& host, int port, const std::string& remedy, const NamePatience& patience) {
  return resolve_all(host, port, remedy, patience).front();
}

template <class Ask>
std::optional<Address> Address::told_by(const Ask& ask, const FileDescriptor& socket, const char* whose) {
  Address address;
  socklen_t bytes = sizeof address.storage_;
  if (ask(socket.get(), reinterpret_cast<sockaddr*>(&address.storage_), &bytes) == 0) return address;
  if (errno == ENOTCONN) return std::nullopt;
  throw_system_error(fmt::format("Asking a socket for {} address", whose));
}

Address Address::of(const FileDescriptor& socket) { return told_by(::getsockname, socket, "its").value(); }
std::optional<Address> Address::peer_of(const FileDescriptor& socket) {
  return told_by(::getpeername, socket, "its peer's");
}

Address Address::from_wire(const Wire& wire) {
  Address address;
  if (wire.family == 4) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(address.storage_);
    ipv4.sin_family = AF_INET;
    std::memcpy(&ipv4.sin_addr, wire.bytes.data(), sizeof ipv4.sin_addr);
  } else if (wire.family == 6) {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(address.storage_);
    ipv6.sin6_family = AF_INET6;
    std::memcpy(&ipv6.sin6_addr, wire.bytes.data(), sizeof ipv6.sin6_addr);
  }
  return address.with_port(wire.port);
}

Address::Wire Address::to_wire() const {
  Wire wire;
  if (family() == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(storage_);
    wire.family = 4;
    wire.port = ntohs(ipv4.sin_port);
    std::memcpy(wire.bytes.data(), &ipv4.sin_addr, sizeof ipv4.sin_addr);
  } else if (family() == AF_INET6) {
    const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(storage_);
    wire.family = 6;
    wire.port = ntohs(ipv6.sin6_port);
    std::memcpy(wire.bytes.data(), &ipv6.sin6_addr, sizeof ipv6.sin6_addr);
  }
  return wire;
}

Address Address::with_port(int port) const {
  Address address = *this;
  const auto network_port = htons(static_cast<std::uint16_t>(port));
  if (family() == AF_INET) reinterpret_cast<sockaddr_in&>(address.storage_).sin_port = network_port;
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(address.storage_).sin6_port = network_port;
  return address;
}

bool Address::is_loopback() const {
  if (family() == AF_INET) {
    return (ntohl(reinterpret_cast<const sockaddr_in&>(storage_).sin_addr.s_addr) >> 24) == IN_LOOPBACKNET;
  }
  return family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
}

bool Address::is_any() const {
  if (family() == AF_INET) return reinterpret_cast<const sockaddr_in&>(storage_).sin_addr.s_addr == INADDR_ANY;
  return family() == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
}

bool Address::is_link_local() const {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6&>(storage_).sin6_addr);
}

std::string Address::to_string() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const Wire wire = to_wire();
  if (wire.family == 0) return "no address";
  ::inet_ntop(family(), wire.bytes.data(), text.data(), text.size());
  if (wire.family == 4) return fmt::format("{}:{}", text.data(), wire.port);
  return fmt::format("[{}]:{}", text.data(), wire.port);
}

socklen_t Address::bytes() const { return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

std::string in_words(std::span<const Address> addresses) {
  std::string words;
  for (const Address& address : addresses) words += (words.empty() ? "" : " or ") + address.to_string();
  return words;
}

namespace {

/// Empty, with the reason in errno, where that fails.
FileDescriptor try_to_listen_on(const Address& address) {
  // As many as the system takes: whoever fills the queue with strangers must fill it again for each that is let in.
  constexpr int kBacklog = 4096;
  FileDescriptor socket = make_socket(address);
  if (!socket) return {};
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (::bind(socket.get(), address.get(), address.bytes()) == 0 && ::listen(socket.get(), kBacklog) == 0) return socket;
  const int error = errno;
  socket.reset();
  errno = error;
  return {};
}

}  // namespace

FileDescriptor listen_on(const Address& address, const std::string& remedy) {
  return listen_on_one_of(std::span(&address, 1), remedy);
}

FileDescriptor listen_on_one_of(std::span<const Address> addresses, const std::string& remedy) {
  for (const Address& address : addresses) {
    if (FileDescriptor socket = try_to_listen_on(address)) return socket;
    const int error = errno;
    const bool is_anothers = error == EADDRNOTAVAIL || error == EAFNOSUPPORT;
    if (is_anothers && &address != &addresses.back()) continue;
    throw Error(ErrorCode::kTransport, fmt::format("Listening on {} failed: {}{}.", address.to_string(),
                                                   std::strerror(error), as_clause(remedy)));
  }
  throw std::logic_error("no address to listen on");
}

FileDescriptor accept_from(const FileDescriptor& listener) {
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket && lacks_means(errno)) throw_system_error("Accepting a rank's connection");
  return socket;
}

namespace {

/// Why a connection that was just made is none to a peer: it is over again, since who listened closed meanwhile; or
/// nobody listens yet, and the system gave the socket that very port, and connected it with itself.
int fault_of_connection(const FileDescriptor& socket) {
  const auto peer = Address::peer_of(socket);
  if (!peer) return ECONNRESET;
  return peer->to_string() == Address::of(socket).to_string() ? ECONNREFUSED : 0;
}

/// 0 and a socket that is connected, or errno.
std::pair<int, FileDescriptor> try_to_connect(const Address& address, Deadline deadline, const Look& look) {
  FileDescriptor socket = make_socket(address);
  if (!socket) return {errno, FileDescriptor()};
  int error = await_connection(socket, address, deadline, look);
  if (error == 0) error = fault_of_connection(socket);
  return {error, std::move(socket)};
}

/// Whether somebody may come to listen at an address that answers so.
bool may_come(int error) {
  constexpr std::array kOfNow{ECONNREFUSED, ETIMEDOUT, ECONNRESET, EHOSTUNREACH, ENETUNREACH, EAGAIN, EINTR};
  return std::find(kOfNow.begin(), kOfNow.end(), error) != kOfNow.end();
}

}  // namespace

FileDescriptor connect_to(const Address& address, Deadline deadline, const Look& look) {
  return connect_to_one_of(std::span(&address, 1), deadline, look);
}

FileDescriptor connect_to_one_of(std::span<const Address> addresses, Deadline deadline, const Look& look) {
  const bool is_only_one = addresses.size() == 1;
  constexpr milliseconds kLongestTry{16'000};
  milliseconds longest{250};  // of a try, while there are others; far away it takes longer than this
  int last_error = 0;
  do {
    for (const Address& address : addresses) {
      const Deadline end = is_only_one ? deadline : std::min(deadline, steady_clock::now() + longest);
      auto [error, socket] = try_to_connect(address, end, look);
      if (error == 0) return std::move(socket);
      last_error = error;
      if (!may_come(error) && is_only_one) {
        throw Error(ErrorCode::kTransport,
                    fmt::format("Connecting to {} failed: {}.", address.to_string(), std::strerror(error)));
      }
    }
    if (look) look();
    std::this_thread::sleep_for(kRetry);
    longest = std::min(2 * longest, kLongestTry);
  } while (steady_clock::now() < deadline);
  errno = last_error;
  return {};
}

bool ends_connection(int error) {
  constexpr std::array kOfPeers{EPIPE,        ECONNRESET, ECONNABORTED, ECONNREFUSED, ENOTCONN, ETIMEDOUT,
                                EHOSTUNREACH, EHOSTDOWN,  ENETUNREACH,  ENETDOWN,     ENETRESET};
  return std::find(kOfPeers.begin(), kOfPeers.end(), error) != kOfPeers.end();
}

Moved send_all(const FileDescriptor& socket, const void* data, std::size_t bytes, Deadline deadline, const Look& look) {
  return move_all(
      bytes,
      [&](std::size_t done) {
        return ::send(socket.get(), static_cast<const std::byte*>(data) + done, bytes - done, MSG_NOSIGNAL);
      },
      [&] { return wait_until_ready(socket, POLLOUT, deadline, look); });
}

Moved receive_all(const FileDescriptor& socket, void* data, std::size_t bytes, Deadline deadline, const Look& look) {
  return move_all(
      bytes,
      [&](std::size_t done) { return ::recv(socket.get(), static_cast<std::byte*>(data) + done, bytes - done, 0); },
      [&] { return wait_until_ready(socket, POLLIN, deadline, look); });
}

void finish_sending(std::span<pollfd> sockets, Deadline deadline) noexcept {
  for (pollfd& socket : sockets) {
    ::shutdown(socket.fd, SHUT_WR);
    socket.revents = POLLIN;  // it may have had something before
  }
  // That the last of it has arrived wakes nobody. To look often would keep those busy who are to take it.
  constexpr milliseconds kLongest{16};
  for (milliseconds rest{1};; rest = std::min(2 * rest, kLongest)) {
    bool are_closable = true;
    for (pollfd& socket : sockets) {
      if (socket.fd >= 0 && is_closable(socket)) socket.fd = -1;
      are_closable = are_closable && socket.fd < 0;
    }
    const Deadline now = steady_clock::now();
    if (are_closable || now >= deadline) return;
    ::poll(sockets.data(), sockets.size(), milliseconds_until(std::min(deadline, now + rest)));
  }
}

void prepare(const FileDescriptor& socket, int ranks_here) {
  const bool loopback = Address::of(socket).is_loopback();
  set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  if (const auto bytes = send_buffer_bytes(loopback && take_turns(ranks_here)))
    set_option(socket, SOL_SOCKET, SO_SNDBUF, *bytes);
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);  // what lies between forgets connections that are silent
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
}

void notice_silence(const FileDescriptor& socket) {
  constexpr int kSilenceMilliseconds = 30'000;
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, kSilenceMilliseconds);
}

}  // namespace lockstep::tcp
