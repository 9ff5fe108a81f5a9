#pragma once

#include "runtime/call_deadline.h"
#include "runtime/plan.h"
#include "transport/announcement.h"

#include <lockstep/error.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

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
  /// `announcement` is complete but for the sequence and the offsets; its fingerprint is that of the operation alone.
  explicit RunningOperation(const Announcement& announcement)
      : announcement_(announcement), fingerprint_(announcement.fingerprint) {}
  virtual ~RunningOperation() = default;

  /// What is called for each transfer once its bytes are in place, told from what was moved and not from the schedule.
  /// Of an operation in pieces it is those of the first one: the others do the same to theirs. For a transfer of no
  /// bytes, which may not travel, it may be called at the start. Outlives the operation.
  void record_transfers(const TransferRecorder* recorder) { recorder_ = recorder; }

  /// Takes up a call, which stays where it is until the operation is complete, under this sequence number, behind what
  /// was before; nothing moves yet.
  void begin(const Call& call, std::uint64_t sequence, const Past& past = {});
  void begin(Call&& call, std::uint64_t sequence, const Past& past = {}) = delete;
  /// Of the operation after it.
  Past past_behind() const { return {announcement_.fingerprint, announcement_.recent << 8U | fingerprint_ >> 56U}; }
  /// Carries out what its peers are ready for; true once complete. The first after begin announces the operation.
  /// Throws Error.
  bool advance();
  using Time = CallDeadline::Time;
  /// Waits for the peer that the operation stands at, until then at the longest. Throws Error, kTimeout once the
  /// deadline has passed.
  virtual void wait_for_peer_until(Time at_most) = 0;
  /// Adds the sockets of which one must become ready before advance() can do more; none where it waits for something
  /// else.
  virtual void add_awaited_sockets(std::vector<pollfd>& /*sockets*/) {}
  /// For who sleeps on those in another thread than the caller's: tells peers who ask that this rank waits for
  /// somebody, and adds the sockets by which they ask. Throws Error.
  virtual void answer_peers(std::vector<pollfd>& /*sockets*/) {}
  void wait_for_peer() { wait_for_peer_until(Time::max()); }

  /// How often it goes through its schedule, each time with a piece of the buffers.
  virtual int pieces() const { return 1; }
  /// About what it takes of memory as long as it is kept, but for what many share.
  virtual std::size_t bytes_kept() const = 0;

  const Announcement& announcement() const { return announcement_; }
  const Call& call() const { return *call_; }

 protected:
  /// What comes first in a call.
  virtual void enter() = 0;
  virtual bool go_on() = 0;

  bool records() const { return recorder_ != nullptr && *recorder_; }
  void record(const ExecutedTransfer& transfer) const { (*recorder_)(transfer); }
  /// A pass that rank `rank` has made, in the schedule's words: what it read from other ranks was sent to it in `step`,
  /// and what it wrote to others in the same pass it sends in the next one.
  void record(const Plan::Move& move, int step, int rank) const;
  static constexpr const char* kDidNotCome = "which did not come to it";
  static constexpr const char* kWentNoFurther = "which entered it and went no further";
  static constexpr const char* kGaveNoAnswer = "which gave no answer";
  /// Throws Error (kTimeout): rank `rank` waited for these, and what is known of them.
  [[noreturn]] void throw_late(int rank, const std::vector<int>& awaited, const char* what) const;

  Announcement announcement_;
  Past past_;
  CallDeadline deadline_;

 private:
  std::uint64_t fingerprint_;  ///< of the operation alone
  const Call* call_ = nullptr;
  const TransferRecorder* recorder_ = nullptr;
  bool entered_ = false;
};

/// What an error happened in.
struct ErrorScene {
  int rank;
  std::string group;  ///< which it is, if not the world
  std::string operation;
  std::string detail;  ///< after the operation's number: " from rank 3"
  std::uint64_t sequence;
  std::string purpose;
};
/// The error with all that added.
Error explain(const ErrorScene& scene, const Error& error);
ErrorScene scene_of(const RunningOperation& operation, int rank, std::string group);

}  // namespace lockstep
