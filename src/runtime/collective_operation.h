#pragma once

#include "runtime/partition.h"
#include "runtime/plan.h"
#include "transport/transport.h"

#include <lockstep/pending.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// A transfer that was carried out, in the schedule's words. Tests compare what happened with what was planned.
struct ExecutedTransfer {
  int step;
  Transfer transfer;
};
using TransferRecorder = std::function<void(const ExecutedTransfer&)>;

/// One collective under way on one rank: runs a plan over a transport, as far as its peers let it.
class CollectiveOperation {
 public:
  struct Request {
    std::shared_ptr<const Plan> plan;
    Announcement announcement;  ///< with this operation's sequence number
    std::string purpose;
    std::chrono::milliseconds timeout;
    TransferRecorder recorder;  ///< may be empty
  };
  CollectiveOperation(Transport& transport, Request request);

  /// Carries out what its peers are ready for; true once complete. The first call announces the operation. Throws
  /// Error.
  bool advance();
  /// Waits for the peer that the operation stands at. Throws Error, kTimeout once the deadline has passed.
  void wait_for_peer();

  /// The error with this operation's name, number and purpose added.
  Error explain(const Error& error) const;
  const Announcement& announcement() const { return request_.announcement; }

 private:
  void enter();
  bool satisfied(const std::vector<Plan::Wait>& waits);
  void check_agreement(int peer);
  void carry_out(const Plan::Step& step);
  void carry_out(const Plan::Move& move);
  std::byte* chunk_of(int rank, int chunk) const;
  Progress progress_at(int steps) const { return {request_.announcement.sequence, static_cast<std::uint32_t>(steps)}; }
  [[noreturn]] void throw_mismatch() const;
  [[noreturn]] void throw_timeout() const;

  Transport& transport_;
  Request request_;
  Partition partition_;
  std::size_t position_ = 0;  ///< in the plan's steps
  bool entered_ = false;
  std::optional<Plan::Wait> blocked_on_;
  std::vector<std::optional<std::uint64_t>> offsets_;  ///< of the buffers of peers that are known to agree
  std::chrono::steady_clock::time_point deadline_;
};

}  // namespace lockstep
