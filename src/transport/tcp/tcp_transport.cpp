#include "transport/tcp/tcp_transport.h"

#include "base/map_pages.h"
#include "transport/tcp/handshake.h"
#include "transport/tcp/join.h"
#include "transport/tcp/peers.h"
#include "transport/tcp/streams.h"
#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep::tcp {

namespace {

std::shared_ptr<void> pages_of(std::size_t bytes) {
  auto pages = map_pages(bytes);
  if (!pages) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("{} bytes of memory could not be had: {}.", bytes, std::strerror(errno)));
  }
  return pages;
}

/// The links' sockets of one kind, by rank. They are this process's alone: its end closes them, whatever its children
/// do.
std::vector<FileDescriptor> take(std::vector<Host::Link>& links, FileDescriptor Host::Link::*kind) {
  std::vector<FileDescriptor> sockets;
  sockets.reserve(links.size());
  for (Host::Link& link : links) {
    sockets.push_back(std::move(link.*kind));
    sockets.back().keep_from_children();
  }
  return sockets;
}

class TcpTransport final : public MessageTransport {
 public:
  explicit TcpTransport(Host host)
      : here_(host.here),
        piece_bytes_(host.piece_bytes),
        listen_on_(std::move(host.listen_on)),
        secret_(host.secret),
        peers_(host.rank, take(host.links, &Host::Link::control)),
        data_(peers_, take(host.links, &Host::Link::data), host.here),
        messages_(peers_, take(host.links, &Host::Link::messages), host.here) {
    last_sockets_.reserve(kChannels * host.links.size());
  }

  ~TcpTransport() override {
    data_.add_all_sockets(last_sockets_);
    messages_.add_all_sockets(last_sockets_);
    peers_.leave(last_sockets_);
  }

  int rank() const override { return peers_.rank(); }
  int size() const override { return peers_.size(); }
  bool takes(Device device) const override { return device == Device::kHost; }

  RegisteredMemory allocate(std::size_t bytes) override { return {pages_of(bytes), bytes}; }

  std::size_t send(int peer, std::span<const iovec> spans) override { return data_.send(peer, spans); }
  std::size_t receive(int peer, std::span<const iovec> spans) override { return data_.receive(peer, spans); }
  bool wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) override {
    return data_.wait(needs, deadline);
  }
  void add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const override {
    data_.add_sockets(needs, sockets);
  }
  int patience() const override { return data_.patience(); }
  bool shares_core() const override { return data_.shares_core(); }
  std::size_t piece_bytes() const override { return piece_bytes_; }
  ByteStreams& messages() override { return messages_; }
  std::uint64_t bytes_sent() const override { return data_.bytes_sent() + messages_.bytes_sent(); }

  void listen() override { peers_.listen(); }
  void answer(std::vector<pollfd>& sockets) override { peers_.answer(sockets); }
  std::vector<int> idle_peers() override { return peers_.ask_who_is_idle(); }
  void tell(int peer, std::span<const std::byte> what) override { peers_.tell(peer, what); }
  std::span<const std::byte> told_by(int peer) override { return peers_.told_by(peer); }
  void fail(const Error& error) noexcept override { peers_.say_failed(error); }
  void look_around() override { peers_.look_around(); }

  std::string open_meeting() override {
    // This rank's address, as the first of its peers knows it.
    const Address own = Address::of(data_.any_socket());
    meeting_ = open_own_listener(rank(), listen_on_, own, secret_.has_value());
    const Address::Wire wire = told_to_peers(meeting_, own).to_wire();
    return {reinterpret_cast<const char*>(&wire), sizeof wire};
  }

  std::unique_ptr<MessageTransport> join(const Meeting& meeting) override {
    Address::Wire wire;
    std::memcpy(&wire, meeting.place.data(), std::min(meeting.place.size(), sizeof wire));
    const JoinRequest request{.job = meeting.name,
                              .rank = meeting.rank,
                              .size = meeting.size,
                              .here = here_,
                              .listen_on = listen_on_,
                              .secret = secret_,
                              .timeout = meeting.timeout,
                              .company = meeting.company};
    return create(join_at(request, Address::from_wire(wire), std::exchange(meeting_, FileDescriptor())));
  }

 private:
  RankHere here_;
  std::size_t piece_bytes_;
  std::string listen_on_;
  std::optional<Secret> secret_;
  FileDescriptor meeting_;  ///< where this rank listens for a meeting that it opened
  Peers peers_;
  Streams data_;
  Streams messages_;
  std::vector<pollfd> last_sockets_;  ///< those of all connections when this ends, with room made before
};

}  // namespace

std::unique_ptr<MessageTransport> create(Host host) { return std::make_unique<TcpTransport>(std::move(host)); }

}  // namespace lockstep::tcp
