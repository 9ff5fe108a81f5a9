#pragma once

#include "group/identity.h"
#include "group/staging.h"
#include "runtime/collective_operation.h"
#include "transport/transport.h"

#include <lockstep/group.h>

#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <typeindex>
#include <unordered_map>

namespace lockstep::detail {

/// What a Group's handles share: the transport, the operations under way in the order they were asked for, and the
/// first error, after which nothing more is attempted.
class GroupState : public std::enable_shared_from_this<GroupState> {
 public:
  /// What a member asks for.
  struct Task {
    Collective collective = Collective::kBarrier;
    Buffer buffer;
    ReduceOp op = ReduceOp::kSum;
    int root = 0;
  };

  GroupState(Identity identity, std::unique_ptr<Transport> transport);
  ~GroupState();

  const Identity& identity() const { return identity_; }
  Transport& transport() { return *transport_; }

  Pending start(const Task& task, const OperationOptions& options);
  /// How this rank runs such a task by that algorithm; "auto" is the environment's choice, else ours.
  std::shared_ptr<const Plan> plan_for(const Task& task, const std::string& algorithm);
  /// Moves the queue as far as it goes; true when it is empty. Throws the group's error.
  bool progress();
  /// Makes progress until the operation is complete.
  void finish(const CollectiveOperation& operation);
  bool is_complete(const CollectiveOperation& operation) const;

  /// Says to the peers that this rank ends, and why.
  void abandon(const std::string& why) noexcept;

  void record_transfers(TransferRecorder recorder) { recorder_ = std::move(recorder); }
  std::shared_ptr<void>& attribute_slot(std::type_index type) { return attributes_[type]; }

 private:
  /// An operation and what is left to do when it is complete (bring results home from staging).
  struct Entry {
    std::shared_ptr<CollectiveOperation> operation;
    StagedBuffer buffer;
  };

  void validate(const Task& task) const;
  [[noreturn]] void fail(const CollectiveOperation& operation, const Error& error);
  void throw_if_failed() const;

  Identity identity_;
  std::unique_ptr<Transport> transport_;
  StagingPool staging_;
  std::deque<Entry> queue_;
  std::uint64_t sequence_ = 0;
  std::map<std::tuple<Collective, std::string, int>, std::shared_ptr<const Plan>> plans_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> attributes_;
  TransferRecorder recorder_;
  std::exception_ptr error_;
  std::string default_algorithm_;
  std::chrono::milliseconds default_timeout_;
};

}  // namespace lockstep::detail
