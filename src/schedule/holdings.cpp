#include "schedule/holdings.h"

#include <fmt/format.h>

#include <bit>
#include <utility>

namespace lockstep {

namespace {

bool contributes(const Schedule& schedule, int rank, int chunk) {
  if (schedule.collective == Collective::kBroadcast) return rank == schedule.root;
  return schedule.collective != Collective::kAllGather || rank == owner_of(schedule, chunk);
}

}  // namespace

bool must_end_with(const Schedule& schedule, int rank, int chunk) {
  return schedule.collective != Collective::kReduceScatter || rank == owner_of(schedule, chunk);
}

Holdings::Holdings(const Schedule& schedule, int chunk) : all_((index(schedule.ranks) + 63) / 64) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    Set own(all_.size());
    own[index(rank) / 64] = std::uint64_t{1} << (rank % 64);
    nodes_.push_back({.left = kNothing, .right = kNothing, .ranks = own});
    const bool has_it = contributes(schedule, rank, chunk);
    values_.push_back(has_it ? rank : kNothing);
    if (has_it) all_[index(rank) / 64] |= own[index(rank) / 64];
  }
}

void Holdings::apply(const Transfer& transfer) {
  const int source = values_[index(transfer.from)];
  int& target = values_[index(transfer.to)];
  if (source == kNothing) return;
  if (transfer.kind == TransferKind::kCopy || target == kNothing) {
    target = source;
    return;
  }
  Node sum{.left = target, .right = source, .ranks = nodes_[index(target)].ranks};
  for (std::size_t i = 0; i < sum.ranks.size(); ++i) sum.ranks[i] |= nodes_[index(source)].ranks[i];
  target = static_cast<int>(nodes_.size());
  nodes_.push_back(std::move(sum));
}

bool Holdings::is_complete(int rank) const { return holds(rank) && set_of(rank) == all_; }

std::vector<int> Holdings::contributions(int rank) const {
  std::vector<int> ranks;
  if (!holds(rank)) return ranks;
  for (int other = 0; other < static_cast<int>(values_.size()); ++other) {
    if ((set_of(rank)[index(other) / 64] >> (other % 64) & 1U) != 0) ranks.push_back(other);
  }
  return ranks;
}

std::optional<int> Holdings::shared_contribution(int a, int b) const {
  if (!holds(a) || !holds(b)) return std::nullopt;
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const std::uint64_t both = set_of(a)[i] & set_of(b)[i];
    if (both != 0) return static_cast<int>(i) * 64 + std::countr_zero(both);
  }
  return std::nullopt;
}

std::string Holdings::expression(int rank) const {
  // A chain may be as deep as there are ranks: a stack of our own, of nodes and of what stands between them.
  struct Part {
    int node;
    char text;
  };
  std::string expression;
  std::vector<Part> parts{{values_[index(rank)], 0}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.text != 0) {
      expression += part.text;
    } else if (part.node == kNothing) {
      expression += "nothing";
    } else if (nodes_[index(part.node)].left == kNothing) {
      expression += fmt::format("{}", part.node);
    } else {
      expression += '(';
      parts.insert(parts.end(),
                   {{0, ')'}, {nodes_[index(part.node)].right, 0}, {0, '+'}, {nodes_[index(part.node)].left, 0}});
    }
  }
  return expression;
}

}  // namespace lockstep
