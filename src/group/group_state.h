#pragma once

#include "group/engine.h"
#include "group/identity.h"
#include "group/operation_queue.h"
#include "group/prepared_operations.h"
#include "group/schedules.h"
#include "group/task.h"

#include <lockstep/group.h>
#include <lockstep/pending.h>

#include <exception>
#include <memory>
#include <string>
#include <typeindex>
#include <unordered_map>

namespace lockstep::detail {

/// What a Group's handles share: what runs them, the operations under way in the order they were asked for, and the
/// first error, after which nothing more is attempted.
class GroupState final : public Awaited, public std::enable_shared_from_this<GroupState> {
 public:
  GroupState(Identity identity, std::unique_ptr<Engine> engine);
  ~GroupState() override;

  const Identity& identity() const { return identity_; }
  Engine& engine() { return *engine_; }
  Schedules& schedules() { return schedules_; }
  /// The algorithm that a task with these options runs. Throws Error (kInvalidArgument).
  std::string algorithm_for(const Task& task, const OperationOptions& options);

  Pending start(const Task& task, const OperationOptions& options);
  /// Moves the queue as far as it goes; true when it is empty. Throws the group's error.
  bool progress();
  /// A ticket is the operation's sequence number.
  bool advance_to(std::uint64_t sequence) override;
  void wait_until(std::uint64_t sequence) override;
  /// Operations complete in the order they were asked for.
  bool is_complete(std::uint64_t sequence) const { return sequence <= completed_; }

  /// Says to the peers that this rank ends, and why.
  void abandon(const std::string& why) noexcept;

  void record_transfers(TransferRecorder recorder) { operations_.record_transfers(std::move(recorder)); }
  std::shared_ptr<void>& attribute_slot(std::type_index type) { return attributes_[type]; }

 private:
  Reduction reduction_of(const OperationOptions& options) const;
  [[noreturn]] void fail(const Error& error);
  void throw_if_failed() const;

  Identity identity_;
  std::unique_ptr<Engine> engine_;
  Schedules schedules_;
  PreparedOperations operations_;
  OperationQueue queue_;
  std::uint64_t sequence_ = 0;   ///< of the operation asked for last
  std::uint64_t completed_ = 0;  ///< and of the one completed last
  std::unordered_map<std::type_index, std::shared_ptr<void>> attributes_;
  std::exception_ptr error_;
  std::chrono::milliseconds default_timeout_;
  Reduction default_reduction_;
};

}  // namespace lockstep::detail
