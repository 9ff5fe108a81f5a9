#pragma once

#include "transport/announcement.h"

#include <lockstep/error.h>

#include <chrono>
#include <string>

namespace lockstep {

/// What one call asks for beyond its shape.
struct Call {
  const void* input = nullptr;  ///< the same as `output` for an operation in place
  void* output = nullptr;
  std::string purpose;
  std::chrono::milliseconds timeout{0};
};

/// One collective under way on one rank, as far as its peers let it. Used again for call after call of the same shape,
/// so that nothing is allocated or planned the second time.
///
/// begin, then advance and wait_for_peer in turns until advance() says true. One thread at a time.
class RunningOperation {
 public:
  virtual ~RunningOperation() = default;

  /// Takes up a call under this sequence number; nothing moves yet.
  virtual void begin(const Call& call, std::uint64_t sequence) = 0;
  /// Carries out what its peers are ready for; true once complete. The first call after begin announces the operation.
  /// Throws Error.
  virtual bool advance() = 0;
  /// Waits for the peer that the operation stands at. Throws Error, kTimeout once the deadline has passed.
  virtual void wait_for_peer() = 0;

  virtual const Announcement& announcement() const = 0;
  virtual const Call& call() const = 0;
};

/// The error with the operation's name, number and purpose added.
Error explain(const RunningOperation& operation, int rank, const Error& error);

/// When a call that begins now must be over. The clock is asked only when somebody has to wait.
class CallDeadline {
 public:
  using Clock = std::chrono::steady_clock;
  void start(std::chrono::milliseconds timeout) {
    timeout_ = timeout;
    started_ = false;
  }
  /// Counted from the first wait.
  Clock::time_point get() {
    if (!started_) end_ = Clock::now() + timeout_;
    started_ = true;
    return end_;
  }

 private:
  std::chrono::milliseconds timeout_{0};
  Clock::time_point end_;
  bool started_ = false;
};

}  // namespace lockstep
