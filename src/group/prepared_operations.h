#pragma once

#include "group/canonical.h"
#include "group/engine.h"
#include "group/schedules.h"
#include "group/task.h"
#include "runtime/running_operation.h"

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep::detail {

/// One of them, and what is known of it before it runs.
struct PreparedOperation {
  std::unique_ptr<RunningOperation> running;
  std::string algorithm;
  int steps = 0;                 ///< of the schedule; a vendor's are its own affair, as are its bytes
  std::uint64_t wire_bytes = 0;  ///< that this rank's transfers carry
  std::uint64_t last_use = 0;    ///< uses are counted
  std::size_t bytes = 0;         ///< about what it takes of memory as long as it is kept
  int calls_under_way = 0;       ///< asked for and not complete
};

/// The operations of a group, ready to run: one a shape (collective, type, count, ...), made at first use and kept, so
/// that the second call with the same shape plans and allocates nothing. Of those who never ask twice for the same
/// shape (gathers of what is found in a batch) only the last few thousand are kept, and fewer where each takes much
/// memory, as an all_to_all of unequal blocks does among many ranks; beside them, those of which a call is under way.
class PreparedOperations {
 public:
  PreparedOperations(Engine& engine, Schedules& schedules)
      : engine_(engine), schedules_(schedules), canonical_(schedules, engine.rank()) {}

  /// The operation for a valid task. Throws Error for an algorithm that is unknown or cannot do it.
  PreparedOperation& find(const Task& task, std::string_view asked, Reduction reduction);

  /// A call of it begins to be under way, or is complete.
  void take(PreparedOperation& operation) noexcept;
  void give_back(PreparedOperation& operation) noexcept;

  /// Forgets those used longest ago once those of which no call is under way are more than kMostKept, or take more than
  /// kMostBytesKept; never the one found last. One that takes more than the bound by itself is the only one then, and
  /// two that do are made anew in turn.
  void trim();
  static constexpr std::size_t kMostKept = 4096;
  static constexpr std::size_t kMostBytesKept = std::size_t{64} << 20;
  std::size_t kept() const { return operations_.size(); }
  std::size_t bytes_kept() const { return bytes_kept_; }

  /// The algorithm that it runs in such memory. Throws Error, as find().
  std::string algorithm_for(const Task& task, std::string_view asked, Reduction reduction, MemoryKind memory);

  void record_transfers(TransferRecorder recorder) { recorder_ = std::move(recorder); }

 private:
  struct Key {
    std::size_t count;
    Collective collective;
    DataType dtype;
    ReduceOp op;
    Reduction reduction;
    bool registered;
    int root;
    bool splits;
    int asked;  ///< the algorithm's name, by Schedules::number_of
    std::vector<std::size_t> block_counts;

    friend auto operator<=>(const Key&, const Key&) = default;
  };
  using Operations = std::map<Key, PreparedOperation>;

  bool is_registered(const Task& task) const;
  std::uint64_t oldest_use_to_keep() const;
  std::string choose(const Task& task, std::string_view asked, Reduction reduction, MemoryKind memory);
  PreparedOperation prepare(const Task& task, const Key& key);
  PreparedOperation prepare(const Task& task, const std::string& name, bool registered);
  PreparedOperation prepare_vendor(const Task& task);

  Engine& engine_;
  Schedules& schedules_;
  Canonical canonical_;
  TransferRecorder recorder_;
  Operations operations_;
  std::size_t bytes_kept_ = 0;       ///< by all of them
  std::size_t under_way_ = 0;        ///< so many of them are
  std::size_t bytes_under_way_ = 0;  ///< which those take
  std::uint64_t uses_ = 0;
  Key key_{};                                      ///< of the task at hand; it keeps its memory
  Operations::iterator last_ = operations_.end();  ///< most calls are like the one before
};

}  // namespace lockstep::detail
