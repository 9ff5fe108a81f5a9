#include "algorithms/hierarchical_parts.h"
#include "algorithms/pieces.h"
#include "base/index.h"
#include "base/refuse.h"
#include "schedule/ranges.h"
#include "schedule/relabelled.h"
#include "schedule/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace lockstep::algorithm {

namespace {

/// The ranks of a host, and how they do an all_reduce among themselves.
struct Host {
  std::vector<int> ranks;
  Schedule local;
  std::vector<std::vector<int>> finishers;  ///< of each chunk of `local`: the ranks that sum it to the end, ascending
};

/// Drops the reduces of `local` whose sum reaches nobody who takes part between hosts: the first finisher of each chunk
/// does, others who sum the same (as everybody in a recursive doubling) need not.
void drop_what_nobody_needs(Host& host) {
  const int ranks = host.local.ranks;
  std::vector<bool> needed(host.ranks.size() * host.finishers.size());
  const auto needs = [&](int chunk, int rank) { return needed[at(chunk * ranks + rank)]; };
  for (std::size_t chunk = 0; chunk < host.finishers.size(); ++chunk) {
    const auto first = std::find(host.ranks.begin(), host.ranks.end(), host.finishers[chunk].front());
    needed[chunk * at(ranks) + static_cast<std::size_t>(first - host.ranks.begin())] = true;
  }
  for (auto step = host.local.steps.rbegin(); step != host.local.steps.rend(); ++step) {
    std::erase_if(*step, [&](const Transfer& transfer) {
      return transfer.kind == TransferKind::kReduce && !needs(transfer.chunk, transfer.to);
    });
    // What is read was there when the step began: it is needed from the steps before.
    for (const auto& [kind, chunk, from, to] : *step) {
      if (kind == TransferKind::kReduce) needed[at(chunk * ranks + from)] = true;
    }
  }
}

Host make_host(std::vector<int> ranks, const Algorithm& algorithm) {
  Schedule local = algorithm.build({.ranks = static_cast<int>(ranks.size())});
  std::vector<std::vector<int>> finishers = finishers_of(local);
  for (std::vector<int>& of_chunk : finishers) {
    for (int& rank : of_chunk) rank = ranks[at(rank)];
  }
  return {std::move(ranks), std::move(local), std::move(finishers)};
}

/// The two levels, and the chunks that both can be written in: a chunk of every host's schedule is cut into the same
/// slices, and each slice into the chunks of the schedule between hosts.
class Levels {
 public:
  Levels(const ScheduleRequest& request, const Algorithm& local, const Algorithm& global,
         std::vector<std::vector<int>> hosts) {
    for (std::vector<int>& ranks : hosts) hosts_.push_back(make_host(std::move(ranks), local));
    if (has_two_levels()) {
      for (Host& host : hosts_) drop_what_nobody_needs(host);
    }
    global_ = global.build({.ranks = static_cast<int>(hosts_.size())});
    for (const Host& host : hosts_) {
      slices_ = std::lcm(slices_, host.local.chunks);
      require_few_chunks(slices_ * global_.chunks, request);
    }
  }

  int chunks() const { return static_cast<int>(slices_) * global_.chunks; }
  bool has_two_levels() const { return hosts_.size() > 1; }

  /// What is left of the hosts' schedules if only transfers of this kind are carried out, all hosts at once.
  void within_hosts(ScheduleBuilder& s, TransferKind kind) const {
    std::vector<Part> parts;
    parts.reserve(hosts_.size());
    for (const Host& host : hosts_) {
      parts.push_back({host.local, host.ranks, std::vector<std::vector<int>>(at(host.local.chunks))});
      for (int chunk = 0; chunk < host.local.chunks; ++chunk) {
        for_each_chunk_of(host, chunk, [&](int whole) { parts.back().chunks[at(chunk)].push_back(whole); });
      }
    }
    side_by_side(s, parts, kind);
  }

  /// Each slice among the ranks that have it summed, one of each host.
  void between_hosts(ScheduleBuilder& s) const {
    for (const Step& step : global_.steps) {
      for (const auto& [kind, chunk, from, to] : step) {
        for (int slice = 0; slice < slices_; ++slice) {
          const ScheduleBuilder::Link link{.from = owner(hosts_[at(from)], slice), .to = owner(hosts_[at(to)], slice)};
          const int whole = slice * global_.chunks + chunk;
          kind == TransferKind::kCopy ? s.copy(whole, link) : s.reduce(whole, link);
        }
      }
      s.end_step();
    }
  }

  /// Where several ranks of a host sum the same, one of them took part between hosts: the others get it from there.
  void to_all_finishers(ScheduleBuilder& s) const {
    for (const Host& host : hosts_) {
      for (int chunk = 0; chunk < host.local.chunks; ++chunk) {
        const std::vector<int>& ranks = host.finishers[at(chunk)];
        for (std::size_t i = 1; i < ranks.size(); ++i) {
          for_each_chunk_of(host, chunk, [&](int whole) { s.copy(whole, {.from = ranks.front(), .to = ranks[i]}); });
        }
      }
    }
    s.end_step();
  }

 private:
  template <class Use>
  void for_each_chunk_of(const Host& host, int local_chunk, const Use& use) const {
    const int each = chunks() / host.local.chunks;
    for (int chunk = local_chunk * each; chunk < (local_chunk + 1) * each; ++chunk) use(chunk);
  }

  int owner(const Host& host, int slice) const {
    return host.finishers[at(slice * host.local.chunks / static_cast<int>(slices_))].front();
  }

  std::vector<Host> hosts_;
  Schedule global_;
  std::int64_t slices_ = 1;
};

}  // namespace

void side_by_side(ScheduleBuilder& s, const std::vector<Part>& parts, std::optional<TransferKind> only) {
  std::size_t steps = 0;
  for (const Part& part : parts) steps = std::max(steps, part.schedule.steps.size());
  for (std::size_t step = 0; step < steps; ++step) {
    for (const Part& part : parts) {
      if (step >= part.schedule.steps.size()) continue;
      for (const Transfer& transfer : part.schedule.steps[step]) {
        if (only && transfer.kind != *only) continue;
        const ScheduleBuilder::Link link{.from = part.ranks[at(transfer.from)], .to = part.ranks[at(transfer.to)]};
        for (const int chunk : part.chunks[at(transfer.chunk)]) {
          transfer.kind == TransferKind::kCopy ? s.copy(chunk, link) : s.reduce(chunk, link);
        }
      }
    }
    s.end_step();
  }
}

std::vector<std::vector<int>> finishers_of(const Schedule& schedule) {
  std::vector<std::vector<int>> finishers(at(schedule.chunks));
  for (const RankView& view : views_of(schedule)) {
    const std::vector<int> steps = finishing_steps(view);
    for (std::size_t chunk = 0; chunk < steps.size(); ++chunk) {
      if (steps[chunk] >= 0) finishers[chunk].push_back(view.rank);
    }
  }
  for (std::vector<int>& of_chunk : finishers) {
    if (of_chunk.empty()) of_chunk.push_back(0);
  }
  return finishers;
}

void require_few_chunks(std::int64_t chunks, const ScheduleRequest& request) {
  // One rank's view has its own part of the transfers only.
  const std::int64_t most = request.only_rank ? kMostRanksTimesChunks : most_chunks_on_hosts(request.ranks);
  if (chunks <= most) return;
  refuse(
      "The hosts have so many different numbers of ranks that no chunks fit them all; use as many ranks on each host.");
}

/// Hierarchical: the ranks of each host sum among themselves as in one algorithm's all_reduce, up to where each chunk
/// is summed at some rank; these ranks do the other algorithm's all_reduce with those who have the same chunk on the
/// other hosts; then the hosts' schedules do their other half, the copies. Only the second part crosses from host to
/// host: 1 / L of the buffer a rank, of L on a host, if LOCAL leaves 1 / L of it with each, else more with fewer of
/// them. Hosts need not have as many ranks as each other, nor neighbours in rank.
///
/// The other collectives are the two algorithms' own (hierarchical_stages.cpp). A reduce_scatter is LOCAL's, by which a
/// rank has the host's sums of all blocks of its lane, then GLOBAL's in each lane, the ranks that stand at the same
/// place of their hosts; an all_gather is the same backwards. A broadcast goes between hosts to one rank of each and
/// then on within each; a reduce comes the other way. What LOCAL copies of sums it copies once they are all hosts'.
///
/// Source: Cho, Finkler, Kung, Hunter, "BlueConnect: Decomposing All-Reduce for Deep Learning on Heterogeneous Network
/// Hierarchy", SysML 2019 (reduce-scatter within, all-reduce between, all-gather within); here for any two algorithms.
// Cost of n bytes on hosts of L ranks each, of which GLOBAL's part is what crosses:
//   - LOCAL leaves 1 / L with each rank (ring, bidirectional_ring, direct and circulant; halving_doubling and swing
//     where L is a power of two): LOCAL's all_reduce of n on L ranks + GLOBAL's of n / L on the hosts;
//   - LOCAL leaves all of it with one rank (tree, star): LOCAL's of n on L ranks + GLOBAL's of n on the hosts;
//   - LOCAL would leave all of it with every rank (naive; recursive_doubling, L a power of two): one rank takes part,
//     which hears as the root of a reduce by a star, or by a tree, GLOBAL's of n, and then its copies for the
//     others, one after another: (L - 1) (alpha + n beta).
// What lies between (double_tree, and numbers of ranks that are no power of two) costs more than the first. On one host
// it is LOCAL's, on hosts of one rank GLOBAL's. A reduce_scatter or all_gather is LOCAL's of n on L ranks + GLOBAL's of
// n / L on the hosts, where each rank of a host has as much to do as the others.
// planner/network/two_level_form_test.cpp holds all of it to the simulator.
Schedule hierarchical(const ScheduleRequest& request, const Algorithm& local, const Algorithm& global) {
  const std::string name = fmt::format("hierarchical:{},{}", local.name, global.name);
  begin(name, request, 1);  // refuses ranks that cannot be, before hosts are made of them
  const std::vector<int> one_host(at(request.ranks));
  std::vector<std::vector<int>> hosts = ranks_of_hosts(request.hosts.empty() ? one_host : request.hosts);
  if (request.collective != Collective::kAllReduce && request.collective != Collective::kBarrier) {
    return hierarchical_in_stages(name, request, local, global, hosts);
  }
  const Levels levels(request, local, global, std::move(hosts));
  ScheduleBuilder s = begin(name, request, levels.chunks());
  levels.within_hosts(s, TransferKind::kReduce);
  if (levels.has_two_levels()) {
    levels.between_hosts(s);
    levels.to_all_finishers(s);
  }
  levels.within_hosts(s, TransferKind::kCopy);
  return s.take();
}

}  // namespace lockstep::algorithm
