#include "transport/mpi/collectives.h"

#include "base/collective.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <utility>

namespace lockstep::mpi {

namespace {

/// Blocks that lie one after the other.
struct Blocks {
  std::vector<int> counts;
  std::vector<int> offsets;

  void add(std::size_t count) {
    offsets.push_back(counts.empty() ? 0 : offsets.back() + counts.back());
    counts.push_back(static_cast<int>(count));
  }
};

/// Of what any rank's buffers hold, so that all ranks come to the same.
std::size_t most_elements(const VendorTask& task, std::size_t ranks) {
  if (task.collective != Collective::kAllToAll || task.block_counts.empty()) return task.count;
  std::vector<std::size_t> sent(ranks);
  std::vector<std::size_t> received(ranks);
  for (std::size_t pair = 0; pair < task.block_counts.size(); ++pair) {
    sent[pair / ranks] += task.block_counts[pair];
    received[pair % ranks] += task.block_counts[pair];
  }
  return std::max(*std::max_element(sent.begin(), sent.end()), *std::max_element(received.begin(), received.end()));
}

void require_supported(const VendorTask& task, int ranks) {
  const bool is_16_bit = task.dtype == DataType::kBFloat16 || task.dtype == DataType::kFloat16;
  if (is_16_bit && sums_values(task.collective)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("MPI has no type {} to reduce; take an algorithm of Lockstep's.", to_string(task.dtype)));
  }
  const std::size_t elements = most_elements(task, static_cast<std::size_t>(ranks));
  if (elements > INT_MAX) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("MPI counts up to {} elements, and a rank has {}; cut the buffer, or take an algorithm of "
                            "Lockstep's.",
                            INT_MAX, elements));
  }
}

/// What MPI reads and writes until the collective is complete, beside the caller's memory.
struct Storage {
  WholeCollective what;
  Blocks blocks;  ///< of the output, or of the buffer
  Blocks input;
  std::vector<std::byte> own_block;  ///< that MPI writes, where it may not write into the buffer that it reads
  Request request;
};

void place_blocks(Storage& storage, const VendorTask& task, std::size_t rank, std::size_t ranks) {
  const bool pairs = task.collective == Collective::kAllToAll && !task.block_counts.empty();
  for (std::size_t other = 0; other < ranks; ++other) {
    if (pairs) {
      storage.input.add(task.block_counts[rank * ranks + other]);
      storage.blocks.add(task.block_counts[other * ranks + rank]);
      continue;
    }
    const std::size_t count = task.block_counts.empty() ? task.count / ranks : task.block_counts[other];
    storage.input.add(count);
    storage.blocks.add(count);
  }
}

class MpiCollective final : public VendorCollective {
 public:
  MpiCollective(Collectives& group, const VendorTask& task) : group_(group), storage_(std::make_unique<Storage>()) {
    const auto rank = static_cast<std::size_t>(group.rank());
    place_blocks(*storage_, task, rank, static_cast<std::size_t>(group.size()));
    storage_->what = {.collective = task.collective,
                      .dtype = task.dtype,
                      .op = task.op,
                      .root = task.root,
                      .count = static_cast<int>(task.count),
                      .counts = storage_->blocks.counts.data(),
                      .offsets = storage_->blocks.offsets.data(),
                      .input_counts = storage_->input.counts.data(),
                      .input_offsets = storage_->input.offsets.data()};
    own_offset_ = static_cast<std::size_t>(storage_->blocks.offsets[rank]) * size_of(task.dtype);
    if (task.collective != Collective::kReduceScatter) return;
    storage_->own_block.resize(static_cast<std::size_t>(storage_->blocks.counts[rank]) * size_of(task.dtype));
  }

  ~MpiCollective() override {
    // Only where the group has failed: MPI may still come back to it.
    if (under_way_) (void)storage_.release();
  }

  void begin(const void* input, void* output) override {
    WholeCollective& what = storage_->what;
    what.input = input;
    what.output = output_ = output;
    if (what.collective == Collective::kReduceScatter) what.output = storage_->own_block.data();
    group_.process().begin(storage_->request, group_.communicator(), what);
    under_way_ = true;
  }

  bool test() override {
    if (!group_.process().test(storage_->request)) return false;
    under_way_ = false;
    const std::vector<std::byte>& own = storage_->own_block;
    if (!own.empty()) std::memcpy(static_cast<std::byte*>(output_) + own_offset_, own.data(), own.size());
    return true;
  }

 private:
  Collectives& group_;
  std::unique_ptr<Storage> storage_;
  std::size_t own_offset_ = 0;  ///< of this rank's block, in bytes
  void* output_ = nullptr;
  bool under_way_ = false;
};

}  // namespace

Collectives::Collectives(const Process& process, int rank, std::vector<int> world_ranks, int tag)
    : process_(process), rank_(rank), world_ranks_(std::move(world_ranks)), tag_(tag) {}

int Collectives::communicator() {
  if (!communicator_) communicator_ = process_.make_communicator(world_ranks_, tag_);
  return *communicator_;
}

std::unique_ptr<VendorCollective> Collectives::prepare(const VendorTask& task) {
  require_supported(task, size());
  return std::make_unique<MpiCollective>(*this, task);
}

}  // namespace lockstep::mpi
