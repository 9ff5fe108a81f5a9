#include "group/prepared_operations.h"

#include "algorithms/catalog.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace lockstep::detail {

namespace {

/// What the transfers of one rank carry; of a layout that is not cut into slices.
std::uint64_t bytes_from(const Schedule& schedule, const Layout& layout, DataType dtype, int rank) {
  std::uint64_t count = 0;
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      if (transfer.from == rank) count += layout.input(transfer.chunk, 0).count;
    }
  }
  return count * size_of(dtype);
}

/// But for the sequence, and what the engine knows.
Announcement announcement_of(const Task& task, const std::string& name) {
  Announcement announcement;
  // Ranks differ in what they get of an all_to_all of unequal blocks; what they agree on is the whole.
  announcement.count = task.has_pair_counts()
                           ? std::accumulate(task.counts().begin(), task.counts().end(), std::size_t{0})
                           : task.buffer.count;
  announcement.root = task.root;
  announcement.blocks = digest_of_blocks(task.counts());
  announcement.collective = task.collective;
  announcement.dtype = task.buffer.dtype;
  announcement.op = task.op;
  announcement.splits = task.splits;
  announcement.name_algorithm(name);
  return announcement;
}

}  // namespace

bool PreparedOperations::is_registered(const Task& task) const {
  const std::size_t bytes = task.buffer.bytes();
  // A rank may have no part in an all_to_all of unequal blocks, so nobody's memory could be told from it.
  if (task.has_pair_counts()) return false;
  return bytes > 0 && engine_.is_registered(task.buffer.data, bytes) &&
         (task.input == nullptr || engine_.is_registered(task.input, bytes));
}

PreparedOperation& PreparedOperations::find(const Task& task, std::string_view asked, Reduction reduction) {
  key_.count = task.buffer.count;
  key_.collective = task.collective;
  key_.dtype = task.buffer.dtype;
  key_.op = task.op;
  key_.reduction = reduction;
  key_.registered = is_registered(task);
  key_.root = task.root;
  key_.splits = task.splits;
  key_.asked = schedules_.number_of(asked);
  key_.block_counts.assign(task.counts().begin(), task.counts().end());
  if (last_ == operations_.end() || last_->first != key_) {
    last_ = operations_.find(key_);
    if (last_ == operations_.end()) {
      last_ = operations_.emplace(key_, prepare(task, key_)).first;
      bytes_kept_ += last_->second.bytes;
    }
  }
  last_->second.last_use = ++uses_;
  return last_->second;
}

void PreparedOperations::take(PreparedOperation& operation) noexcept {
  if (operation.calls_under_way++ > 0) return;
  ++under_way_;
  bytes_under_way_ += operation.bytes;
}

void PreparedOperations::give_back(PreparedOperation& operation) noexcept {
  if (--operation.calls_under_way > 0) return;
  --under_way_;
  bytes_under_way_ -= operation.bytes;
}

void PreparedOperations::trim() {
  const std::size_t at_rest = operations_.size() - under_way_;
  const bool is_too_much = at_rest > kMostKept || bytes_kept_ - bytes_under_way_ > kMostBytesKept;
  if (!is_too_much || at_rest == 1) return;  // it stays, whatever it takes
  const std::uint64_t oldest = oldest_use_to_keep();
  std::erase_if(operations_, [&](const auto& kept) {
    const bool goes = kept.second.calls_under_way == 0 && kept.second.last_use < oldest;
    if (goes) bytes_kept_ -= kept.second.bytes;
    return goes;
  });
}

/// Among those at rest; of half as many as may be kept, so that it is not asked for with each new one.
std::uint64_t PreparedOperations::oldest_use_to_keep() const {
  struct Use {
    std::uint64_t number;
    std::size_t bytes;
  };
  std::vector<Use> uses;
  uses.reserve(operations_.size() - under_way_);
  for (const auto& [key, operation] : operations_) {
    if (operation.calls_under_way == 0) uses.push_back({operation.last_use, operation.bytes});
  }
  std::sort(uses.begin(), uses.end(), [](const Use& a, const Use& b) { return a.number > b.number; });
  std::size_t bytes = uses.front().bytes;
  std::size_t kept = 1;
  while (kept < std::min(uses.size(), kMostKept / 2) && bytes + uses[kept].bytes <= kMostBytesKept / 2)
    bytes += uses[kept++].bytes;
  return uses[kept - 1].number;
}

std::string PreparedOperations::algorithm_for(const Task& task, std::string_view asked, Reduction reduction,
                                              MemoryKind memory) try {
  std::string name = choose(task, asked, reduction, memory);
  schedules_.require_support(name, task.collective);
  return name;
} catch (const Error& error) {
  throw_of(task, engine_.rank(), error);
}

std::string PreparedOperations::choose(const Task& task, std::string_view asked, Reduction reduction,
                                       MemoryKind memory) {
  // Over messages all memory is alike: what is said of plain memory is of ranks that see each other's.
  if (engine_.medium() != Medium::kSharedMemory) memory = MemoryKind::kRegistered;
  if (reduction == Reduction::kCanonical) return canonical_.choose(task, asked, memory);
  return schedules_.resolve(asked, task.collective, task.common_bytes(), memory);
}

PreparedOperation PreparedOperations::prepare(const Task& task, const Key& key) try {
  const MemoryKind memory = key.registered ? MemoryKind::kRegistered : MemoryKind::kPlain;
  const std::string name = choose(task, schedules_.text_of(key.asked), key.reduction, memory);
  PreparedOperation operation = name == kVendor ? prepare_vendor(task) : prepare(task, name, key.registered);
  operation.running->record_transfers(&recorder_);
  operation.algorithm = name;
  operation.bytes =
      sizeof(Operations::value_type) + operation.running->bytes_kept() + key.block_counts.size() * sizeof(std::size_t);
  return operation;
} catch (const Error& error) {
  throw_of(task, engine_.rank(), error);
}

PreparedOperation PreparedOperations::prepare(const Task& task, const std::string& name, bool registered) {
  const Schedule& schedule = schedules_.get(name, task.collective, task.root);
  Layout layout({.collective = task.collective,
                 .dtype = task.buffer.dtype,
                 .ranks = engine_.size(),
                 .chunks = schedule.chunks,
                 .count = task.buffer.count,
                 .block_counts = task.counts_of_blocks()});
  PreparedOperation operation;
  operation.steps = static_cast<int>(schedule.steps.size());
  operation.wire_bytes = bytes_from(schedule, layout, task.buffer.dtype, engine_.rank());
  operation.running = engine_.prepare({.schedule = &schedule,
                                       .announcement = announcement_of(task, name),
                                       .layout = std::move(layout),
                                       .registered = registered});
  return operation;
}

PreparedOperation PreparedOperations::prepare_vendor(const Task& task) {
  Announcement announcement = announcement_of(task, std::string(kVendor));
  announcement.fingerprint = fingerprint_of(announcement);
  PreparedOperation operation;
  operation.running = engine_.prepare_vendor(task, announcement);
  if (operation.running) return operation;
  throw Error(ErrorCode::kUnsupported,
              fmt::format("Rank {}: {}: '{}' hands a collective to the library beneath the transport, and there is "
                          "none; take the transport mpi, or an algorithm of Lockstep's.",
                          engine_.rank(), to_string(task.collective), kVendor),
              {.rank = engine_.rank(), .operation = std::string(to_string(task.collective))});
}

}  // namespace lockstep::detail
