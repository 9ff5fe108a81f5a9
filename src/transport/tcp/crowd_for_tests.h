#pragma once

#include "transport/tcp/deadline_for_tests.h"

#include <lockstep/error.h>

#include <atomic>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace lockstep::tcp {

/// Strangers that come to `address` until the thread is to stop, and say so many bytes of garbage each, by turns. Up to
/// 200 stay at a time.
inline std::jthread crowd_at(const Address& address, std::vector<std::size_t> bytes, std::atomic<int>& came) {
  return std::jthread([address, bytes = std::move(bytes), &came](const std::stop_token& stop) {
    std::vector<FileDescriptor> strangers;
    while (!stop.stop_requested()) {
      const Deadline soon = in(std::chrono::milliseconds(100));
      try {
        FileDescriptor stranger = connect_to(address, soon);
        if (!stranger) continue;  // nobody listens yet, or no more
        const std::string garbage(bytes[strangers.size() % bytes.size()], 'x');
        (void)send_all(stranger, garbage.data(), garbage.size(), soon);
        strangers.push_back(std::move(stranger));
      } catch (const Error&) {
        continue;  // no port is left for the moment
      }
      ++came;
      if (strangers.size() >= 200) strangers.clear();
    }
  });
}

}  // namespace lockstep::tcp
