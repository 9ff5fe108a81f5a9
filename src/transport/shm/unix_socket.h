#pragma once

#include "base/file_descriptor.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::shm {

using Deadline = std::chrono::steady_clock::time_point;

/// Unix sockets in the abstract namespace (they leave no file behind), in packet mode (a message arrives whole or not
/// at all), between processes of the same user only.

/// Listens under `name`. Throws Error (kTransport), also if the name is taken.
FileDescriptor listen_on(const std::string& name);
/// The next waiting connection of this user; connections of other users are dropped. None if none waits.
std::optional<FileDescriptor> accept_from(const FileDescriptor& listener);
/// Tries until somebody of this user listens under `name` and has room for one who waits. None if nobody did by the
/// deadline. Throws Error (kTransport) if another user does.
std::optional<FileDescriptor> connect_to(const std::string& name, Deadline deadline);

struct Message {
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> files;
};

/// What there is to take, by a look that takes nothing.
enum class Line : std::uint8_t {
  kSilent,
  kSpeaks,
  kOver  ///< the other end is closed, and all that came has been taken
};
Line state_of(const FileDescriptor& socket);

enum class Sent : std::uint8_t {
  kAll,
  kLate,  ///< nothing: there was no room by the deadline
  kGone   ///< nothing: the other end is closed
};
/// Throws Error (kTransport) of what is this rank's own fault, or its system's.
Sent send_message(const FileDescriptor& socket, const void* data, std::size_t bytes, const std::vector<int>& files,
                  Deadline deadline);
/// None if the deadline passed. Throws Error (kTransport) if the other side hung up, once all that it had sent is
/// taken, or sent more than `limit` bytes.
std::optional<Message> receive_message(const FileDescriptor& socket, std::size_t limit, Deadline deadline);

}  // namespace lockstep::shm
