#include "transport/shm/lifeline.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace lockstep::shm {

Lifeline Lifeline::create() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("Making a lifeline (pipe2)");
  Lifeline line{FileDescriptor(ends[1]), FileDescriptor(ends[0])};
  line.owner_end.keep_from_children();
  return line;
}

std::vector<int> hung_up(const std::vector<FileDescriptor>& watch_ends) {
  // So many at once that nothing is allocated for them: who waits looks again and again.
  std::array<pollfd, 64> polled;
  std::vector<int> gone;
  for (std::size_t begin = 0; begin < watch_ends.size(); begin += polled.size()) {
    const std::size_t count = std::min(polled.size(), watch_ends.size() - begin);
    // poll passes over negative descriptors.
    for (std::size_t i = 0; i < count; ++i) polled[i] = {watch_ends[begin + i].get(), 0, 0};
    if (::poll(polled.data(), count, 0) <= 0) continue;
    for (std::size_t i = 0; i < count; ++i) {
      if ((polled[i].revents & POLLHUP) != 0) gone.push_back(static_cast<int>(begin + i));
    }
  }
  return gone;
}

}  // namespace lockstep::shm
