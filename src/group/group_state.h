#pragma once

#include "base/own_process.h"
#include "group/engine.h"
#include "group/first_error.h"
#include "group/identity.h"
#include "group/operation_queue.h"
#include "group/prepared_operations.h"
#include "group/progress_thread.h"
#include "group/schedules.h"
#include "group/task.h"
#include "planner/calibration/in_force.h"
#include "runtime/point_to_point.h"

#include <lockstep/group.h>
#include <lockstep/pending.h>
#include <lockstep/traffic.h>

#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeindex>
#include <unordered_map>

namespace lockstep::detail {

/// What a Group's handles share: what runs them, the operations under way in the order they were asked for, the
/// messages under way beside them, and the first error, after which nothing more is attempted.
class GroupState final : public Awaited, public std::enable_shared_from_this<GroupState> {
 public:
  /// `calibration` is the same on all ranks, or empty.
  GroupState(Identity identity, std::unique_ptr<Engine> engine, JobCalibration calibration = {});
  ~GroupState() override;

  const Identity& identity() const { return identity_; }
  Engine& engine() { return *engine_; }
  const Schedules& schedules() const { return schedules_; }
  std::string load_schedule(const std::string& text);
  const JobCalibration& calibration() const { return calibration_; }
  /// The algorithm that a task with these options runs. Throws Error (kInvalidArgument).
  std::string algorithm_for(const Task& task, const OperationOptions& options, MemoryKind memory);
  const OperationTotals& totals() const { return totals_; }

  Pending start(const Task& task, const OperationOptions& options);
  /// A message to or from one rank.
  Pending start(PointToPoint::Direction direction, int peer, const Buffer& buffer, const OperationOptions& options);
  /// Moves all that is under way as far as it goes; true when nothing is. Throws the group's error.
  bool progress();
  /// A ticket is the operation's sequence number.
  bool advance_to(std::uint64_t sequence) override;
  void wait_until(std::uint64_t sequence) override;
  /// Unless it is complete: as abandon().
  void abandon_at(std::uint64_t sequence) override;
  /// Says to the peers that this rank ends, and why, and does no more.
  void abandon(const char* why) noexcept;

  RegisteredMemory allocate(std::size_t bytes);

  /// As the transport's.
  void look_around();
  /// What the group has failed with, if it has.
  void throw_if_failed();
  /// While that is caught: ranks of this group could not become one of their own. Tells the peers, and throws it as
  /// this group's error.
  [[noreturn]] void fail_to_split(const std::exception& thrown);

  void record_transfers(TransferRecorder recorder);
  std::shared_ptr<void>& attribute_slot(std::type_index type) { return attributes_[type]; }

 private:
  /// Pendings of messages, by their tickets.
  class AwaitedMessages final : public Awaited {
   public:
    explicit AwaitedMessages(GroupState& state) : state_(state) {}
    bool advance_to(PointToPoint::Ticket ticket) override;
    void wait_until(PointToPoint::Ticket ticket) override;
    void abandon_at(PointToPoint::Ticket ticket) override;

   private:
    GroupState& state_;
  };

  /// Throws Error (kInvalidArgument) in a forked child, where what is under way is the parent's, and the mutex may have
  /// been held by a thread that is not there.
  void require_own_process() const;
  /// Held by whoever is in the group, once it has a thread of its own. Throws as require_own_process().
  std::unique_lock<std::mutex> alone();
  bool move_all();
  void move_in_background();
  void make_thread();
  void add_awaited_sockets(std::vector<pollfd>& sockets);
  /// For who has moved things and leaves: wakes the thread where what is under way has come to wait for other sockets
  /// than those that it sleeps on.
  void tell_thread();
  std::chrono::microseconds background_step(std::vector<pollfd>& sockets) noexcept;
  /// Neither operations nor messages are under way.
  bool is_idle() const { return queue_.empty() && messages_.idle(); }
  /// Operations complete in the order they were asked for.
  bool is_complete(std::uint64_t sequence) const { return sequence <= completed_; }
  /// All before the operation begins, and in a group of one all of it.
  void take_up(const Task& task, const OperationOptions& options);
  /// Before anything is sent.
  [[noreturn]] void throw_out_of_memory(std::string_view operation) const;
  Reduction reduction_of(const OperationOptions& options) const;
  std::chrono::milliseconds timeout_of(const OperationOptions& options) const;
  void push(const Task& task, PreparedOperation& operation, const OperationOptions& options);
  void begin_front();
  void complete_front();
  bool advance_operations();
  /// For who only asks whether an operation or a message is complete, and never waits: now and then, whether a peer has
  /// died or a deadline has passed.
  void look_for_trouble();
  bool advance_messages();
  /// The same for both kinds of Pending, which say whether theirs is complete, and wait for it once.
  template <class IsComplete>
  bool advance_until(const IsComplete& is_complete);
  template <class IsComplete, class WaitOnce>
  void wait_until_complete(const IsComplete& is_complete, const WaitOnce& wait_once);
  template <class IsComplete>
  void abandon_unless(const IsComplete& is_complete);

  /// Does something for the operation at the front, or for the messages. Whatever it throws ends the group, for the
  /// caller has its memory back: nothing more is done with that, and the peers are told.
  template <class Work>
  std::invoke_result_t<Work> in_operation(const Work& work);
  template <class Work>
  std::invoke_result_t<Work> in_message(const Work& work);
  template <class Work, class SceneOf>
  std::invoke_result_t<Work> in_scene(const Work& work, const SceneOf& scene_of_it);

  OwnProcess process_;
  Identity identity_;
  std::unique_ptr<Engine> engine_;
  JobCalibration calibration_;
  Schedules schedules_;
  PreparedOperations operations_;
  OperationQueue queue_;
  PointToPoint messages_;
  AwaitedMessages awaited_messages_{*this};
  std::uint64_t sequence_ = 0;   ///< of the operation asked for last
  std::uint64_t completed_ = 0;  ///< and of the one completed last
  Past past_;                    ///< up to the one begun last
  OperationTotals totals_;
  std::unordered_map<std::type_index, std::shared_ptr<void>> attributes_;
  FirstError first_error_;
  std::chrono::steady_clock::time_point next_look_;  ///< for trouble
  std::chrono::milliseconds default_timeout_;
  Reduction default_reduction_;
  int exceptions_;  ///< under way when this was made: one more has ended it
  std::mutex mutex_;
  std::vector<pollfd> watched_;       ///< what the thread sleeps on
  std::vector<pollfd> awaited_;       ///< kept from one look to the next
  bool does_without_thread_ = false;  ///< the system gave none
  /// From the first on that wants one; last, since it uses all of the above.
  std::unique_ptr<ProgressThread> thread_;
};

}  // namespace lockstep::detail
