#pragma once

#include "group/engine.h"
#include "group/schedules.h"
#include "group/task.h"
#include "runtime/running_operation.h"

#include <memory>
#include <string_view>
#include <unordered_map>

namespace lockstep::detail {

/// The operations of a group, ready to run: one a shape (collective, type, count, ...), made at first use and kept, so
/// that the second call with the same shape plans and allocates nothing.
class PreparedOperations {
 public:
  PreparedOperations(Engine& engine, Schedules& schedules) : engine_(engine), schedules_(schedules) {}

  /// Throws Error for a shape that cannot run: bad arguments, an unknown algorithm.
  RunningOperation& find(const Task& task, std::string_view algorithm);

  void record_transfers(TransferRecorder recorder) { recorder_ = std::move(recorder); }

 private:
  struct Key {
    Collective collective;
    DataType dtype;
    ReduceOp op;
    bool registered;
    int root;
    int asked;  ///< the algorithm's name, by Schedules::number_of
    std::size_t count;
    std::vector<std::size_t> block_counts;

    friend bool operator==(const Key&, const Key&) = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };

  std::unique_ptr<RunningOperation> prepare(const Task& task, const Key& key);

  Engine& engine_;
  Schedules& schedules_;
  TransferRecorder recorder_;
  std::unordered_map<Key, std::unique_ptr<RunningOperation>, KeyHash> operations_;
  Key last_key_{};
  RunningOperation* last_ = nullptr;  ///< most calls are like the one before
};

}  // namespace lockstep::detail
