#include "transport/tcp/streams.h"

#include "topology/cpu_quota.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace lockstep::tcp {

namespace {

msghdr message_of(std::span<const iovec> spans) {
  msghdr message{};
  message.msg_iov = const_cast<iovec*>(spans.data());
  message.msg_iovlen = spans.size();
  return message;
}

}  // namespace

Streams::Streams(Peers& peers, std::vector<FileDescriptor> sockets, const RankHere& here)
    : peers_(peers), sockets_(std::move(sockets)), shares_core_(!has_core_alone(here, cpus_within_quota())) {
  polled_.reserve(sockets_.size());
}

std::size_t Streams::send(int peer, std::span<const iovec> spans) {
  const msghdr message = message_of(spans);
  const ssize_t sent = ::sendmsg(socket(peer), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    return static_cast<std::size_t>(sent);
  }
  if (errno != EAGAIN && errno != EINTR) peers_.throw_broken(peer);
  return 0;
}

std::size_t Streams::receive(int peer, std::span<const iovec> spans) {
  msghdr message = message_of(spans);
  const ssize_t received = ::recvmsg(socket(peer), &message, MSG_DONTWAIT);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0 || (errno != EAGAIN && errno != EINTR)) peers_.throw_broken(peer);
  return 0;
}

bool Streams::wait(std::span<const Need> needs, std::chrono::steady_clock::time_point deadline) {
  polled_.clear();
  add_sockets(needs, polled_);
  return peers_.poll(polled_, deadline);
}

void Streams::add_sockets(std::span<const Need> needs, std::vector<pollfd>& sockets) const {
  for (const Need& need : needs) {
    const int events = (need.room ? POLLOUT : 0) | (need.bytes ? POLLIN : 0);
    sockets.push_back({socket(need.peer), static_cast<short>(events), 0});
  }
}

const FileDescriptor& Streams::any_socket() const {
  return *std::find_if(sockets_.begin(), sockets_.end(), [](const FileDescriptor& one) { return !!one; });
}

}  // namespace lockstep::tcp
