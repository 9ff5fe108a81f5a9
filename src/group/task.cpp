#include "group/task.h"

#include <fmt/format.h>

#include <numeric>
#include <string>

namespace lockstep::detail {

namespace {

bool has_blocks(Collective collective) {
  switch (collective) {
    case Collective::kReduceScatter:
    case Collective::kAllGather:
    case Collective::kGather:
    case Collective::kScatter:
    case Collective::kAllToAll: return true;
    default: return false;
  }
}

}  // namespace

void validate(const Task& task, int rank, int size) {
  const auto refuse = [&](const std::string& why) {
    throw Error(ErrorCode::kInvalidArgument, fmt::format("Rank {}: {}: {}", rank, to_string(task.collective), why),
                {.rank = rank, .operation = std::string(to_string(task.collective))});
  };
  const std::size_t count = task.buffer.count;
  if (task.buffer.data == nullptr && count > 0) refuse("the buffer is a null pointer.");
  if (task.collective == Collective::kAllToAll && count > 0) {
    const auto* input = static_cast<const std::byte*>(task.input);
    const auto* output = static_cast<const std::byte*>(task.buffer.data);
    if (input == nullptr) refuse("the input is a null pointer.");
    if (input < output + task.buffer.bytes() && output < input + task.buffer.bytes()) {
      refuse("input and output overlap; give it two buffers.");
    }
  }
  if (task.buffer.device != Device::kHost) refuse("no transport here takes device memory.");
  if (task.root < 0 || task.root >= size) refuse(fmt::format("the root is {} in a group of {}.", task.root, size));
  if (!task.block_counts.empty()) {
    if (task.block_counts.size() != static_cast<std::size_t>(size)) {
      refuse(fmt::format("{} block counts were given for a group of {}.", task.block_counts.size(), size));
    }
    const std::size_t sum = std::accumulate(task.block_counts.begin(), task.block_counts.end(), std::size_t{0});
    if (sum != count) refuse(fmt::format("the blocks have {} elements in all, the buffer {}.", sum, count));
  } else if (has_blocks(task.collective) && count % static_cast<std::size_t>(size) != 0) {
    refuse(fmt::format("{} elements are no multiple of the group's {} ranks; pad the buffer.", count, size));
  }
}

}  // namespace lockstep::detail
