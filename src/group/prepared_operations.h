#pragma once

#include "group/schedules.h"
#include "group/task.h"
#include "runtime/running_operation.h"
#include "runtime/shared_memory_operation.h"
#include "runtime/staging_ring.h"
#include "transport/transport.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <unordered_map>

namespace lockstep::detail {

/// The operations of a group, ready to run: one a shape (collective, type, count, ...), made at first use and kept, so
/// that the second call with the same shape plans and allocates nothing.
class PreparedOperations {
 public:
  PreparedOperations(Transport& transport, Schedules& schedules);

  /// Throws Error for a shape that cannot run: bad arguments, an unknown algorithm.
  RunningOperation& find(const Task& task, std::string_view algorithm);

  void record_transfers(TransferRecorder recorder) { recorder_ = std::move(recorder); }

 private:
  struct Key {
    Collective collective;
    DataType dtype;
    ReduceOp op;
    bool in_place;
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
  std::shared_ptr<const Plan> plan_for(const Schedule& schedule, const Key& key, bool in_place);

  Transport& transport_;
  Schedules& schedules_;
  StagingRing staging_;
  TransferRecorder recorder_;
  std::unordered_map<Key, std::unique_ptr<RunningOperation>, KeyHash> operations_;
  std::map<std::tuple<std::string, Collective, int, bool>, std::shared_ptr<const Plan>> plans_;
  Key last_key_{};
  RunningOperation* last_ = nullptr;  ///< most calls are like the one before
};

}  // namespace lockstep::detail
