#pragma once

#include "base/file_descriptor.h"
#include "base/own_process.h"

#include <poll.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

namespace lockstep::detail {

/// A thread that moves operations on while nobody asks for it: it sleeps until a socket that they wait for is ready,
/// and not for less than they say, since each waking takes the core from who computes.
class ProgressThread {
 public:
  /// Moves what is under way, and adds the sockets that this waits for; none if nothing is. Gives how long nobody need
  /// look after them. Does its own locking and throws nothing.
  using Step = std::function<std::chrono::microseconds(std::vector<pollfd>& sockets)>;

  /// Steps once, and then sleeps until wake() or a socket. Steps that add no more than `most_sockets` find room for
  /// them. Throws Error (kTransport).
  ProgressThread(Step step, std::size_t most_sockets);
  ~ProgressThread();
  ProgressThread(const ProgressThread&) = delete;
  ProgressThread& operator=(const ProgressThread&) = delete;

  /// There is something new under way.
  void wake() noexcept;

 private:
  static void* enter(void* self);
  void run();

  OwnProcess process_;
  Step step_;
  FileDescriptor bell_;          ///< what wakes it beside the sockets
  std::vector<pollfd> sockets_;  ///< the thread's; made before it, so that it never allocates in the midst of things
  std::atomic<bool> stopping_ = false;
  pthread_t thread_;  ///< last: it uses all of the above; no std::thread, which a forked child could not leave alone
};

}  // namespace lockstep::detail
