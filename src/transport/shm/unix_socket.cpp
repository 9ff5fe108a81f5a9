#include "transport/shm/unix_socket.h"

#include "base/clock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <lockstep/error.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace lockstep::shm {

namespace {

constexpr std::size_t kMaxFiles = 4;

struct Address {
  sockaddr_un value{};
  socklen_t length = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&value); }
};

Address abstract_address(const std::string& name) {
  Address address;
  address.value.sun_family = AF_UNIX;
  // A leading zero byte makes the name abstract.
  const std::size_t length = std::min(name.size(), sizeof address.value.sun_path - 1);
  std::memcpy(address.value.sun_path + 1, name.data(), length);
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

FileDescriptor make_socket(int extra_flags) {
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | extra_flags, 0));
  if (!socket) throw_system_error("Making a Unix socket");
  return socket;
}

/// From now on reading from it waits.
void make_blocking(const FileDescriptor& socket) {
  const int flags = ::fcntl(socket.get(), F_GETFL);
  if (flags < 0 || ::fcntl(socket.get(), F_SETFL, flags & ~O_NONBLOCK) != 0) throw_system_error("Setting up a socket");
}

bool same_user(const FileDescriptor& socket) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0)
    throw_system_error("Asking who a peer is");
  return peer.uid == ::geteuid();
}

/// What `read` returns. Of a peer that ended with something unread a reset is told once, before what it said last,
/// which counts.
template <class Read>
ssize_t past_reset(const Read& read) {
  const ssize_t got = read();
  return got < 0 && errno == ECONNRESET ? read() : got;
}

/// False if the deadline passed.
bool wait_readable(const FileDescriptor& socket, Deadline deadline) {
  while (true) {
    pollfd polled{socket.get(), POLLIN, 0};
    const int ready = ::poll(&polled, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0) return false;
    if (errno != EINTR) throw_system_error("Waiting for a peer (poll)");
  }
}

std::vector<FileDescriptor> received_files(msghdr& header) {
  std::vector<FileDescriptor> files;
  for (cmsghdr* control = CMSG_FIRSTHDR(&header); control != nullptr; control = CMSG_NXTHDR(&header, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int file = -1;
      std::memcpy(&file, CMSG_DATA(control) + i * sizeof(int), sizeof file);
      files.emplace_back(file);
    }
  }
  return files;
}

}  // namespace

FileDescriptor listen_on(const std::string& name) {
  FileDescriptor listener = make_socket(SOCK_NONBLOCK);
  const Address address = abstract_address(name);
  if (::bind(listener.get(), address.get(), address.length) != 0) {
    throw_system_error(fmt::format("Listening as '{}' (is another job with this identity running?)", name));
  }
  if (::listen(listener.get(), SOMAXCONN) != 0) throw_system_error("Listening on a Unix socket");
  return listener;
}

std::optional<FileDescriptor> accept_from(const FileDescriptor& listener) {
  FileDescriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket && lacks_means(errno)) throw_system_error("Accepting a rank's connection");
  if (!socket || !same_user(socket)) return std::nullopt;
  return socket;
}

std::optional<FileDescriptor> connect_to(const std::string& name, Deadline deadline) {
  const Address address = abstract_address(name);
  while (true) {
    // Where the listener's queue is full, one that blocks would wait for as long as that lets nobody in.
    FileDescriptor socket = make_socket(SOCK_NONBLOCK);
    if (::connect(socket.get(), address.get(), address.length) == 0) {
      make_blocking(socket);
      if (same_user(socket)) return socket;
      throw Error(ErrorCode::kTransport, fmt::format("Another user's process answers as '{}'.", name));
    }
    if (errno != ECONNREFUSED && errno != EAGAIN && errno != EINTR) throw_system_error("Connecting to rank 0");
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

Line state_of(const FileDescriptor& socket) {
  char byte = 0;
  const ssize_t there = past_reset([&] { return ::recv(socket.get(), &byte, 1, MSG_PEEK | MSG_DONTWAIT); });
  if (there > 0) return Line::kSpeaks;
  return there == 0 ? Line::kOver : Line::kSilent;
}

Sent send_message(const FileDescriptor& socket, const void* data, std::size_t bytes, const std::vector<int>& files,
                  Deadline deadline) {
  iovec vector{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFiles * sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  if (!files.empty()) {
    header.msg_control = control;
    header.msg_controllen = CMSG_SPACE(files.size() * sizeof(int));
    cmsghdr* rights = CMSG_FIRSTHDR(&header);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(files.size() * sizeof(int));
    std::memcpy(CMSG_DATA(rights), files.data(), files.size() * sizeof(int));
  }
  while (::sendmsg(socket.get(), &header, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
    if (errno == EPIPE || errno == ECONNRESET) return Sent::kGone;
    if (errno == EINTR) continue;
    // Of a user's descriptors only so many may be under way at a time: some must be taken first.
    const bool too_many = errno == ETOOMANYREFS;
    const bool waits = std::chrono::steady_clock::now() < deadline;
    if (errno != EAGAIN && !(too_many && waits)) throw_system_error("Sending to a peer");
    if (!waits) return Sent::kLate;
    if (too_many) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    } else {
      pollfd polled{socket.get(), POLLOUT, 0};
      (void)::poll(&polled, 1, milliseconds_until(deadline));
    }
  }
  return Sent::kAll;
}

std::optional<Message> receive_message(const FileDescriptor& socket, std::size_t limit, Deadline deadline) {
  if (!wait_readable(socket, deadline)) return std::nullopt;
  Message message;
  message.bytes.resize(limit);
  iovec vector{message.bytes.data(), limit};
  alignas(cmsghdr) char control[CMSG_SPACE(kMaxFiles * sizeof(int))];
  msghdr header{};
  header.msg_iov = &vector;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  const ssize_t got = past_reset([&] { return ::recvmsg(socket.get(), &header, MSG_CMSG_CLOEXEC); });
  if (got < 0) throw_system_error("Receiving from a peer");
  message.files = received_files(header);
  if (got == 0) throw Error(ErrorCode::kTransport, "A rank hung up while the group was being formed.");
  if ((header.msg_flags & MSG_CTRUNC) != 0 && message.files.size() < kMaxFiles) {
    throw Error(ErrorCode::kTransport,
                "This process has no descriptor left for what a rank sends while the group is being formed; raise its "
                "limit (ulimit -n), or keep fewer groups.");
  }
  if ((header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
    throw Error(ErrorCode::kTransport, "A peer sent more than a rank sends while the group is being formed.");
  }
  message.bytes.resize(static_cast<std::size_t>(got));
  return message;
}

}  // namespace lockstep::shm
