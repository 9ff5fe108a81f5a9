#pragma once

#include "base/file_descriptor.h"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace lockstep::tcp {

using Deadline = std::chrono::steady_clock::time_point;

/// What who waits does every 20 ms meanwhile; throws why there is nothing to wait for.
using Look = std::function<void()>;

/// Who is asked what a name stands for: the system, if not a test that answers itself.
using NameLookup = std::function<int(const char* host, const char* port, const addrinfo* hints, addrinfo** found)>;

/// For how long a name that stands for nothing yet, as that of a machine that is being started, is asked for again and
/// again, and who is asked.
struct NamePatience {
  std::chrono::milliseconds timeout{0};
  NameLookup lookup = ::getaddrinfo;
};

/// An IPv4 or IPv6 address and a port.
class Address {
 public:
  /// As ranks tell it to each other.
  struct Wire {
    std::uint16_t family = 0;  ///< 4 or 6; 0: none
    std::uint16_t port = 0;
    std::array<unsigned char, 16> bytes{};
  };

  Address() = default;
  /// All that the name stands for, once it does, in the order in which the system would try them, but for IPv6
  /// addresses that mean nothing without their link, which no Wire tells. Throws Error (kInvalidArgument) that repeats
  /// the name, and then what to do; also, and at once, where it stands for such addresses only.
  static std::vector<Address> resolve_all(const std::string& host, int port, const std::string& remedy = {},
                                          const NamePatience& patience = {});
  /// The first of them.
  static Address resolve(const std::string& host, int port, const std::string& remedy = {},
                         const NamePatience& patience = {});
  static Address from_wire(const Wire& wire);
  /// This side's end of a socket.
  static Address of(const FileDescriptor& socket);
  /// The other end; none where the connection is over, or was never made.
  static std::optional<Address> peer_of(const FileDescriptor& socket);

  Wire to_wire() const;
  Address with_port(int port) const;
  /// Whether only this host can reach it.
  bool is_loopback() const;
  /// Whether it stands for all addresses of a machine, where one listens; nobody connects to it from elsewhere.
  bool is_any() const;
  /// Whether it is an IPv6 address of one link only.
  bool is_link_local() const;
  /// "127.0.0.1:4711", "[::1]:4711".
  std::string to_string() const;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t bytes() const;
  int family() const { return storage_.ss_family; }

 private:
  explicit Address(const addrinfo& found);
  /// Throws Error (kTransport).
  template <class Ask>
  static std::optional<Address> told_by(const Ask& ask, const FileDescriptor& socket, const char* whose);

  sockaddr_storage storage_{};
};

/// "127.0.0.1:4711", "127.0.0.1:4711 or [::1]:4711".
std::string in_words(std::span<const Address> addresses);

// The sockets of these five do not block, and are closed when a program is started from here.

/// Listens on that address and no other. Throws Error (kTransport) naming it, and then what to do.
FileDescriptor listen_on(const Address& address, const std::string& remedy = {});
/// The same on the first of them that is one of this machine. Throws that of the last where none is.
FileDescriptor listen_on_one_of(std::span<const Address> addresses, const std::string& remedy = {});
/// A waiting connection; empty if none waits.
FileDescriptor accept_from(const FileDescriptor& listener);
/// Tries until somebody listens there; empty if nobody did by the deadline, with what the last try met in errno. Throws
/// Error (kTransport) if the address cannot be reached at all.
FileDescriptor connect_to(const Address& address, Deadline deadline, const Look& look = {});
/// The same where somebody listens at one of several addresses of a machine, not all of which need lead there: none
/// keeps the others from being tried, whatever it meets.
FileDescriptor connect_to_one_of(std::span<const Address> addresses, Deadline deadline, const Look& look = {});

/// Whether this error of a call that moves data tells of the other end, or of the way there. Any other is this rank's
/// own.
bool ends_connection(int error);

enum class Moved : std::uint8_t { kAll, kTimeout, kClosed };
/// Exactly that many bytes. For the few messages of a start; they throw nothing but what the look does.
Moved send_all(const FileDescriptor& socket, const void* data, std::size_t bytes, Deadline deadline,
               const Look& look = {});
Moved receive_all(const FileDescriptor& socket, void* data, std::size_t bytes, Deadline deadline,
                  const Look& look = {});

/// What comes before they are closed: says that nothing follows on any of them, and takes what the peers still send,
/// lest the system drop what is under way to them. Returns once all of it has arrived or nobody is there for it, but no
/// later than at the deadline. Empty ones are passed over, as are from then on those that can be closed: their
/// descriptors here become -1.
void finish_sending(std::span<pollfd> sockets, Deadline deadline) noexcept;

/// What every connection between ranks gets: small messages leave at once, and silence is broken now
/// and then. `ranks_here`: how many ranks share this machine's cores.
void prepare(const FileDescriptor& socket, int ranks_here);
/// A machine or line that does not answer for 30 s breaks the connection. For those whose peer reads them again and
/// again, so that they never fill: one whose peer does not would break too, however alive that is.
void notice_silence(const FileDescriptor& socket);

}  // namespace lockstep::tcp
