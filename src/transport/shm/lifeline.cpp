#include "transport/shm/lifeline.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

namespace lockstep::shm {

Lifeline Lifeline::create() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("Making a lifeline (pipe2)");
  return {FileDescriptor(ends[1]), FileDescriptor(ends[0])};
}

std::vector<int> hung_up(const std::vector<FileDescriptor>& watch_ends) {
  std::vector<pollfd> polled;
  polled.reserve(watch_ends.size());
  // poll passes over negative descriptors.
  for (const FileDescriptor& end : watch_ends) polled.push_back({end.get(), 0, 0});
  std::vector<int> gone;
  if (::poll(polled.data(), polled.size(), 0) <= 0) return gone;
  for (std::size_t i = 0; i < polled.size(); ++i) {
    if ((polled[i].revents & POLLHUP) != 0) gone.push_back(static_cast<int>(i));
  }
  return gone;
}

}  // namespace lockstep::shm
