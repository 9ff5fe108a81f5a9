#include "transport/tcp/streams.h"

#include "topology/cpu_quota.h"
#include "transport/tcp/tcp_socket.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
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
    : peers_(peers), sockets_(std::move(sockets)), shares_core_(!has_core_alone(here, job_cpus())) {
  polled_.reserve(sockets_.size());
}

std::size_t Streams::send(int peer, std::span<const iovec> spans) {
  const msghdr message = message_of(spans);
  const ssize_t sent = ::sendmsg(socket(peer), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0) {
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    return static_cast<std::size_t>(sent);
  }
  if (errno != EAGAIN && errno != EINTR) throw_failed(peer, "sending to", errno);
  return 0;
}

std::size_t Streams::receive(int peer, std::span<const iovec> spans) {
  msghdr message = message_of(spans);
  const ssize_t received = ::recvmsg(socket(peer), &message, MSG_DONTWAIT);
  if (received > 0) return static_cast<std::size_t>(received);
  if (received == 0) peers_.throw_broken(peer);
  if (errno != EAGAIN && errno != EINTR) throw_failed(peer, "receiving from", errno);
  return 0;
}

void Streams::throw_failed(int peer, const char* what, int error) {
  if (ends_connection(error)) peers_.throw_broken(peer);
  const char* const advice =
      error == EFAULT ? "; is all of the buffer there? It must be until the operation is complete" : "";
  throw Error(
      ErrorCode::kTransport,
      fmt::format("{} rank {} failed on rank {} itself: {}{}", what, peer, peers_.rank(), std::strerror(error), advice),
      {.rank = peers_.rank()});
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

void Streams::add_all_sockets(std::vector<pollfd>& sockets) const {
  for (const FileDescriptor& socket : sockets_) sockets.push_back({socket.get(), POLLIN, 0});
}

const FileDescriptor& Streams::any_socket() const {
  return *std::find_if(sockets_.begin(), sockets_.end(), [](const FileDescriptor& one) { return !!one; });
}

}  // namespace lockstep::tcp
