#include "transport/tcp/tcp_transport.h"

#include "topology/cpu_quota.h"
#include "transport/tcp/control.h"
#include "transport/tcp/join.h"
#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace lockstep::tcp {

namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// A data stream may break before the word that explains it has arrived beside it.
constexpr milliseconds kLastWord{500};
/// For a peer that waits to say so.
constexpr milliseconds kAnswer{250};

int patience_for(int ranks_here) {
  const bool own_core = ranks_here <= cpus_within_quota();
  return own_core ? 200 : 4;
}

std::shared_ptr<void> map_pages(std::size_t bytes) {
  const std::size_t mapped = std::max<std::size_t>(bytes, 1);
  void* const data = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) {
    throw Error(ErrorCode::kOutOfMemory,
                fmt::format("{} bytes of memory could not be had: {}.", bytes, std::strerror(errno)));
  }
  return {data, [mapped](void* memory) { ::munmap(memory, mapped); }};
}

class TcpTransport final : public MessageTransport {
 public:
  explicit TcpTransport(Host host)
      : rank_(host.rank),
        ranks_here_(host.ranks_here),
        listen_on_(std::move(host.listen_on)),
        secret_(host.secret),
        patience_(patience_for(host.ranks_here)) {
    for (Host::Link& link : host.links) {
      controls_.emplace_back(static_cast<int>(controls_.size()), std::move(link.control));
      data_.push_back(std::move(link.data));
    }
    polled_.reserve(2 * data_.size());
  }

  ~TcpTransport() override {
    for (Control& control : controls_) control.say_left();
    for (Control& control : controls_) control.close();
  }

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(data_.size()); }
  bool reaches(int peer) const override { return peer >= 0 && peer < size(); }
  bool takes(Device device) const override { return device == Device::kHost; }
  int patience() const override { return patience_; }

  RegisteredMemory allocate(std::size_t bytes) override { return {map_pages(bytes), bytes}; }

  std::size_t send(int peer, std::span<const iovec> spans) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(spans.data());
    message.msg_iovlen = spans.size();
    const ssize_t sent = ::sendmsg(socket(peer), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent >= 0) return static_cast<std::size_t>(sent);
    if (errno != EAGAIN && errno != EINTR) throw_broken(peer);
    return 0;
  }

  std::size_t receive(int peer, std::span<const iovec> spans) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(spans.data());
    message.msg_iovlen = spans.size();
    const ssize_t received = ::recvmsg(socket(peer), &message, MSG_DONTWAIT);
    if (received > 0) return static_cast<std::size_t>(received);
    if (received == 0 || (errno != EAGAIN && errno != EINTR)) throw_broken(peer);
    return 0;
  }

  bool wait(std::span<const Need> needs, steady_clock::time_point deadline) override {
    polled_.clear();
    for (const Need& need : needs) {
      const int events = (need.room ? POLLOUT : 0) | (need.bytes ? POLLIN : 0);
      polled_.push_back({socket(need.peer), static_cast<short>(events), 0});
    }
    for (const Control& control : controls_) polled_.push_back({control.descriptor(), POLLIN, 0});
    const int ready = ::poll(polled_.data(), polled_.size(), milliseconds_until(deadline));
    const auto first_control = polled_.begin() + static_cast<std::ptrdiff_t>(needs.size());
    const bool met = std::any_of(polled_.begin(), first_control, [](const pollfd& one) { return one.revents != 0; });
    for (std::size_t i = needs.size(); ready > 0 && i < polled_.size(); ++i) {
      if (polled_[i].revents != 0) controls_[i - needs.size()].listen();
    }
    // What has come is taken first: a peer's failure in the next operation must not overtake what it gave to this one.
    if (!met) check_peers();
    return ready != 0 || steady_clock::now() < deadline;
  }

  std::vector<int> idle_peers() override {
    for (Control& control : controls_) control.ask();
    const auto end = steady_clock::now() + kAnswer;
    while (steady_clock::now() < end && !idle().empty()) {
      polled_.clear();
      for (const Control& control : controls_) polled_.push_back({control.descriptor(), POLLIN, 0});
      ::poll(polled_.data(), polled_.size(), milliseconds_until(end));
      for (Control& control : controls_) control.listen();
      check_peers();
    }
    return idle();
  }

  void fail(const Error& error) noexcept override {
    for (Control& control : controls_) control.say_failed(error);
  }

  std::string open_meeting() override {
    const Address own = listen_on_.empty() ? reached_at().with_port(0) : Address::resolve(listen_on_, 0);
    meeting_ = open_listener(rank_, own, secret_.has_value());
    const Address::Wire wire = Address::of(meeting_).to_wire();
    return {reinterpret_cast<const char*>(&wire), sizeof wire};
  }

  std::unique_ptr<MessageTransport> join(const Meeting& meeting) override {
    Address::Wire wire;
    std::memcpy(&wire, meeting.place.data(), std::min(meeting.place.size(), sizeof wire));
    const JoinRequest request{.job = meeting.name,
                              .rank = meeting.rank,
                              .size = meeting.size,
                              .ranks_here = ranks_here_,
                              .listen_on = listen_on_,
                              .secret = secret_,
                              .timeout = meeting.timeout};
    return create(join_at(request, Address::from_wire(wire), std::exchange(meeting_, FileDescriptor())));
  }

 private:
  /// This rank's address, as the first of its peers knows it.
  Address reached_at() const {
    const auto some = std::find_if(data_.begin(), data_.end(), [](const FileDescriptor& one) { return !!one; });
    return Address::of(*some);
  }

  int socket(int peer) const { return data_[static_cast<std::size_t>(peer)].get(); }

  std::vector<int> idle() const {
    std::vector<int> peers;
    for (int peer = 0; peer < size(); ++peer) {
      const Control& control = controls_[static_cast<std::size_t>(peer)];
      const bool is_there = peer != rank_ && control.state() == Control::State::kActive;
      if (is_there && !control.says_it_waits()) peers.push_back(peer);
    }
    return peers;
  }

  /// Throws if any peer has failed or died.
  void check_peers() const {
    // A peer's own word comes first: it knows more than a connection that broke does.
    for (const Control& control : controls_) {
      if (control.state() == Control::State::kFailed) throw control.failure();
    }
    for (int peer = 0; peer < size(); ++peer) {
      if (state(peer) == Control::State::kGone) throw died(peer);
    }
  }

  [[noreturn]] void throw_broken(int peer) {
    Control& control = controls_[static_cast<std::size_t>(peer)];
    control.listen();
    if (control.state() == Control::State::kActive) {
      pollfd polled{control.descriptor(), POLLIN, 0};
      ::poll(&polled, 1, static_cast<int>(kLastWord.count()));
    }
    for (Control& any : controls_) any.listen();
    check_peers();
    if (state(peer) == Control::State::kLeft) {
      throw Error(ErrorCode::kPeerLeft,
                  fmt::format("rank {} has left the group; do all ranks run the same number of operations?", peer),
                  {.rank = rank_, .peer = peer});
    }
    throw died(peer);
  }

  Error died(int peer) const {
    return {ErrorCode::kPeerDied, fmt::format("rank {} died", peer), {.rank = rank_, .peer = peer}};
  }
  Control::State state(int peer) const { return controls_[static_cast<std::size_t>(peer)].state(); }

  int rank_;
  int ranks_here_;
  std::string listen_on_;
  std::optional<Secret> secret_;
  FileDescriptor meeting_;  ///< where this rank listens for a meeting that it opened
  int patience_;
  std::vector<Control> controls_;     ///< by rank; our own says nothing
  std::vector<FileDescriptor> data_;  ///< by rank
  std::vector<pollfd> polled_;
};

}  // namespace

std::unique_ptr<MessageTransport> create(Host host) { return std::make_unique<TcpTransport>(std::move(host)); }

}  // namespace lockstep::tcp
