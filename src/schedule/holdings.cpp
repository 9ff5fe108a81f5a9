#include "schedule/holdings.h"

#include "schedule/promise.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

namespace lockstep {

namespace {

/// The values' combination along the binary tree: pairs of neighbours, then pairs of pairs. `combine` is told which is
/// the last.
template <class Combine>
int along_the_tree(std::vector<int> values, const Combine& combine) {
  while (values.size() > 1) {
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); i += 2) {
      values[count++] = i + 1 < values.size() ? combine(values[i], values[i + 1], values.size() == 2) : values[i];
    }
    values.resize(count);
  }
  return values.front();
}

/// Those that end at the same rank together, there in ascending order of where they come from.
std::vector<Transfer> by_target(std::span<const Transfer> transfers) {
  std::vector<Transfer> sorted(transfers.begin(), transfers.end());
  std::sort(sorted.begin(), sorted.end(),
            [](const Transfer& a, const Transfer& b) { return std::pair(a.to, a.from) < std::pair(b.to, b.from); });
  return sorted;
}

/// The end of the transfers to the rank that the first of them ends at.
template <class Iterator>
Iterator end_of_target(Iterator first, Iterator end) {
  return std::find_if(first, end, [&](const Transfer& transfer) { return transfer.to != first->to; });
}

}  // namespace

Holdings::Holdings(const Schedule& schedule, int chunk)
    : is_barrier_(schedule.collective == Collective::kBarrier), all_((at(schedule.ranks) + 63) / 64) {
  for (int rank = 0; rank < schedule.ranks; ++rank) {
    Set own(all_.size());
    own[at(rank) / 64] = std::uint64_t{1} << (rank % 64);
    const bool has_it = contributes(schedule, rank, chunk);
    values_.push_back(has_it ? rank : kNothing);
    if (has_it) all_[at(rank) / 64] |= own[at(rank) / 64];
    nodes_.push_back({.left = kNothing, .right = kNothing, .lowest = rank, .order = rank, .ranks = std::move(own)});
  }
}

std::pair<int, int> Holdings::ordered(int a, int b) const {
  const bool keep = std::pair(nodes_[at(a)].lowest, a) <= std::pair(nodes_[at(b)].lowest, b);
  return keep ? std::pair(a, b) : std::pair(b, a);
}

bool Holdings::has_all_of(int a, int b) const {
  const Set& of_a = nodes_[at(a)].ranks;
  const Set& of_b = nodes_[at(b)].ranks;
  return std::equal(of_a.begin(), of_a.end(), of_b.begin(),
                    [](std::uint64_t mine, std::uint64_t other) { return (other & ~mine) == 0; });
}

int Holdings::sum_of(int a, int b, bool is_stored) {
  const auto [left, right] = ordered(a, b);
  if (is_barrier_ && has_all_of(a, b)) return a;
  if (is_barrier_ && has_all_of(b, a)) return b;
  const int next = static_cast<int>(nodes_.size());
  const auto [found, is_new] = (is_stored ? stored_ : within_).try_emplace(key_of(left, right), next);
  if (is_new) {
    const int order = orders_.try_emplace(key_of(order_of(left), order_of(right)), next).first->second;
    Node sum{.left = left,
             .right = right,
             .lowest = nodes_[at(left)].lowest,
             .order = order,
             .ranks = nodes_[at(left)].ranks};
    for (std::size_t i = 0; i < sum.ranks.size(); ++i) sum.ranks[i] |= nodes_[at(right)].ranks[i];
    nodes_.push_back(std::move(sum));
  }
  return found->second;
}

void Holdings::apply(std::span<const Transfer> transfers) {
  const std::vector<Transfer> sorted = by_target(transfers);
  std::vector<std::pair<int, int>> written;  // after all have been read
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = end_of_target(first, sorted.end());
    const int target = first->to;
    std::vector<int> operands;
    bool is_placed = !holds(target);
    for (; first != end; ++first) {
      const int source = values_[at(first->from)];
      if (source == kNothing) continue;
      if (first->kind == TransferKind::kCopy) {
        operands.clear();
        is_placed = true;
      } else if (!is_placed && first->from > target) {
        operands.push_back(values_[at(target)]);
        is_placed = true;
      }
      operands.push_back(source);
    }
    if (!is_placed) operands.push_back(values_[at(target)]);
    if (operands.empty()) continue;
    const auto combine = [this](int a, int b, bool is_last) { return sum_of(a, b, is_last); };
    written.emplace_back(target, along_the_tree(std::move(operands), combine));
  }
  for (const auto& [rank, value] : written) values_[at(rank)] = value;
}

bool Holdings::is_complete(int rank) const { return holds(rank) && set_of(rank) == all_; }

std::vector<int> Holdings::contributions(int rank) const {
  std::vector<int> ranks;
  if (!holds(rank)) return ranks;
  for (int other = 0; other < static_cast<int>(values_.size()); ++other) {
    if ((set_of(rank)[at(other) / 64] >> (other % 64) & 1U) != 0) ranks.push_back(other);
  }
  return ranks;
}

std::optional<Holdings::Twice> Holdings::counted_twice(std::span<const Transfer> reduces) const {
  const std::vector<Transfer> sorted = by_target(reduces);
  for (auto first = sorted.begin(); first != sorted.end();) {
    const auto end = end_of_target(first, sorted.end());
    const int target = first->to;
    Set so_far = holds(target) ? set_of(target) : Set(all_.size());
    for (; first != end; ++first) {
      if (!holds(first->from)) continue;
      for (std::size_t i = 0; i < so_far.size(); ++i) {
        const std::uint64_t more = set_of(first->from)[i];
        if (const std::uint64_t both = so_far[i] & more; both != 0) {
          return Twice{target, static_cast<int>(i) * 64 + std::countr_zero(both)};
        }
        so_far[i] |= more;
      }
    }
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
  std::vector<Part> parts{{values_[at(rank)], 0}};
  while (!parts.empty()) {
    const Part part = parts.back();
    parts.pop_back();
    if (part.text != 0) {
      expression += part.text;
    } else if (part.node == kNothing) {
      expression += "nothing";
    } else if (nodes_[at(part.node)].left == kNothing) {
      expression += fmt::format("{}", part.node);
    } else {
      expression += '(';
      parts.insert(parts.end(),
                   {{0, ')'}, {nodes_[at(part.node)].right, 0}, {0, '+'}, {nodes_[at(part.node)].left, 0}});
    }
  }
  return expression;
}

bool Holdings::is_canonical(int rank) const {
  std::vector<int> all(values_.size());
  std::iota(all.begin(), all.end(), 0);
  // What was never summed is nobody's value.
  const auto find_sum = [this](int a, int b, bool /*is_last*/) {
    const auto found = a == kNothing || b == kNothing ? orders_.end() : orders_.find(key_of(a, b));
    return found == orders_.end() ? kNothing : found->second;
  };
  return holds(rank) && order_of(values_[at(rank)]) == along_the_tree(std::move(all), find_sum);
}

}  // namespace lockstep
