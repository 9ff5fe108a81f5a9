#include <lockstep/group.h>

#include "group/group_state.h"
#include "group/split.h"

#include <algorithm>

namespace lockstep {

Group::Group(std::shared_ptr<detail::GroupState> state) : state_(std::move(state)) {}

int Group::rank() const { return state_->identity().rank; }
int Group::size() const { return state_->identity().size; }

std::vector<int> Group::world_ranks() const {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(size()));
  for (int rank = 0; rank < size(); ++rank) ranks.push_back(state_->identity().world_rank(rank));
  return ranks;
}

std::vector<int> Group::hosts() const {
  const std::vector<int>& hosts = state_->identity().hosts;
  return hosts.empty() ? std::vector<int>(static_cast<std::size_t>(size())) : hosts;
}

Group Group::split(int colour, int key) const { return Group(detail::split(*state_, colour, key)); }

Pending Group::all_reduce(Buffer buffer, ReduceOp op, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kAllReduce, .buffer = buffer, .op = op, .block_counts = {}}, options);
}

Pending Group::reduce_scatter(Buffer buffer, ReduceOp op, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kReduceScatter, .buffer = buffer, .op = op, .block_counts = {}},
                       options);
}

Pending Group::all_gather(Buffer buffer, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kAllGather, .buffer = buffer, .block_counts = {}}, options);
}

Pending Group::broadcast(Buffer buffer, int root, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kBroadcast, .buffer = buffer, .root = root, .block_counts = {}},
                       options);
}

Pending Group::reduce(Buffer buffer, int root, ReduceOp op, const OperationOptions& options) const {
  return state_->start(
      {.collective = Collective::kReduce, .buffer = buffer, .op = op, .root = root, .block_counts = {}}, options);
}

Pending Group::gather(Buffer buffer, int root, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kGather, .buffer = buffer, .root = root, .block_counts = {}},
                       options);
}

Pending Group::scatter(Buffer buffer, int root, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kScatter, .buffer = buffer, .root = root, .block_counts = {}},
                       options);
}

Pending Group::all_to_all(const void* input, Buffer output, const OperationOptions& options) const {
  return state_->start({.collective = Collective::kAllToAll, .buffer = output, .input = input, .block_counts = {}},
                       options);
}

Pending Group::reduce_scatter_v(Buffer buffer, const std::vector<std::size_t>& counts, ReduceOp op,
                                const OperationOptions& options) const {
  return state_->start({.collective = Collective::kReduceScatter, .buffer = buffer, .op = op, .block_counts = counts},
                       options);
}

Pending Group::all_gather_v(Buffer buffer, const std::vector<std::size_t>& counts,
                            const OperationOptions& options) const {
  return state_->start({.collective = Collective::kAllGather, .buffer = buffer, .block_counts = counts}, options);
}

Pending Group::gather_v(Buffer buffer, const std::vector<std::size_t>& counts, int root,
                        const OperationOptions& options) const {
  return state_->start({.collective = Collective::kGather, .buffer = buffer, .root = root, .block_counts = counts},
                       options);
}

Pending Group::scatter_v(Buffer buffer, const std::vector<std::size_t>& counts, int root,
                         const OperationOptions& options) const {
  return state_->start({.collective = Collective::kScatter, .buffer = buffer, .root = root, .block_counts = counts},
                       options);
}

Pending Group::all_to_all_v(const void* input, Buffer output, const std::vector<std::size_t>& counts,
                            const OperationOptions& options) const {
  return state_->start({.collective = Collective::kAllToAll, .buffer = output, .input = input, .block_counts = counts},
                       options);
}

Pending Group::barrier(const OperationOptions& options) const {
  return state_->start({.collective = Collective::kBarrier, .buffer = {}, .block_counts = {}}, options);
}

Pending Group::send(Buffer buffer, int to, const OperationOptions& options) const {
  return state_->start(PointToPoint::Direction::kSend, to, buffer, options);
}

Pending Group::receive(Buffer buffer, int from, const OperationOptions& options) const {
  return state_->start(PointToPoint::Direction::kReceive, from, buffer, options);
}

std::string Group::algorithm_for(Collective collective, std::size_t bytes, const OperationOptions& options,
                                 DataType dtype, bool registered) const {
  // A buffer of bytes without elements: only its size and, for canonical sums, its type matter.
  const Buffer buffer{nullptr, bytes / std::max(size_of(dtype), std::size_t{1}), dtype};  // state_ knows the types
  return state_->algorithm_for({.collective = collective, .buffer = buffer, .block_counts = {}}, options,
                               registered ? MemoryKind::kRegistered : MemoryKind::kPlain);
}

std::string Group::load_schedule(const std::string& text) const { return state_->load_schedule(text); }

RegisteredMemory Group::allocate(std::size_t bytes) const { return state_->allocate(bytes); }

bool Group::progress() const { return state_->progress(); }

std::shared_ptr<void>& Group::attribute_slot(std::type_index type) const { return state_->attribute_slot(type); }

}  // namespace lockstep
