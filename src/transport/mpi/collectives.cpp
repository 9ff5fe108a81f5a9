#include "transport/mpi/collectives.h"

#include <fmt/format.h>
#include <lockstep/error.h>

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

bool is_reduction(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kReduceScatter ||
         collective == Collective::kReduce;
}

void require_supported(const VendorTask& task) {
  const bool is_16_bit = task.dtype == DataType::kBFloat16 || task.dtype == DataType::kFloat16;
  if (is_16_bit && is_reduction(task.collective)) {
    throw Error(ErrorCode::kUnsupported,
                fmt::format("MPI has no type {} to reduce; take an algorithm of Lockstep's.", to_string(task.dtype)));
  }
  std::size_t elements = task.count;
  for (const std::size_t count : task.block_counts) elements = std::max(elements, count);
  if (elements > INT_MAX) {
    throw Error(ErrorCode::kUnsupported, fmt::format("MPI counts up to {} elements, not {}; cut the buffer, or take an "
                                                     "algorithm of Lockstep's.",
                                                     INT_MAX, elements));
  }
}

class MpiCollective final : public VendorCollective {
 public:
  MpiCollective(Collectives& group, const VendorTask& task) : group_(group) {
    what_.collective = task.collective;
    what_.dtype = task.dtype;
    what_.op = task.op;
    what_.root = task.root;
    what_.count = static_cast<int>(task.count);
    place_blocks(task);
    what_.counts = blocks_.counts.data();
    what_.offsets = blocks_.offsets.data();
    what_.input_counts = input_.counts.data();
    what_.input_offsets = input_.offsets.data();
    if (task.collective == Collective::kReduceScatter) own_block_.resize(own_bytes());
  }

  void begin(const void* input, void* output) override {
    what_.input = input;
    what_.output = output_ = output;
    if (what_.collective == Collective::kReduceScatter) what_.output = own_block_.data();
    group_.process().begin(request_, group_.communicator(), what_);
  }

  bool test() override {
    if (!group_.process().test(request_)) return false;
    if (!own_block_.empty()) std::memcpy(own_place(), own_block_.data(), own_block_.size());
    return true;
  }

 private:
  void place_blocks(const VendorTask& task) {
    const auto ranks = static_cast<std::size_t>(group_.size());
    const auto rank = static_cast<std::size_t>(group_.rank());
    const bool pairs = task.collective == Collective::kAllToAll && !task.block_counts.empty();
    for (std::size_t other = 0; other < ranks; ++other) {
      if (pairs) {
        input_.add(task.block_counts[rank * ranks + other]);
        blocks_.add(task.block_counts[other * ranks + rank]);
        continue;
      }
      const std::size_t count = task.block_counts.empty() ? task.count / ranks : task.block_counts[other];
      input_.add(count);
      blocks_.add(count);
    }
  }

  std::size_t bytes_of(const std::vector<int>& elements) const {
    return static_cast<std::size_t>(elements[static_cast<std::size_t>(group_.rank())]) * size_of(what_.dtype);
  }
  std::size_t own_bytes() const { return bytes_of(blocks_.counts); }
  std::byte* own_place() const { return static_cast<std::byte*>(output_) + bytes_of(blocks_.offsets); }

  Collectives& group_;
  WholeCollective what_;
  Blocks blocks_;  ///< of the output, or of the buffer
  Blocks input_;
  std::vector<std::byte> own_block_;  ///< that MPI writes, where it may not write into the buffer that it reads
  void* output_ = nullptr;
  Request request_;
};

}  // namespace

Collectives::Collectives(const Process& process, int rank, std::vector<int> world_ranks, int tag)
    : process_(process), rank_(rank), world_ranks_(std::move(world_ranks)), tag_(tag) {}

std::unique_ptr<VendorCollective> Collectives::prepare(const VendorTask& task) {
  require_supported(task);
  return std::make_unique<MpiCollective>(*this, task);
}

int Collectives::communicator() {
  if (!communicator_) communicator_ = process_.make_communicator(world_ranks_, tag_);
  return *communicator_;
}

}  // namespace lockstep::mpi
