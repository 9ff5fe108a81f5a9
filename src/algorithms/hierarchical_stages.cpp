// What hierarchical:LOCAL,GLOBAL does in stages: the one algorithm on each host, the other between hosts.
#include "algorithms/hierarchical_parts.h"
#include "algorithms/pieces.h"
#include "base/index.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace lockstep::algorithm {

namespace {

using Hosts = std::vector<std::vector<int>>;  ///< the ranks of each

/// The algorithm between hosts, for whole chunks that the same ranks take part with, one of each host.
class BetweenHosts {
 public:
  explicit BetweenHosts(Schedule schedule) : schedule_(std::move(schedule)) {}

  const Schedule& schedule() const { return schedule_; }

  /// A chunk of the whole, which is one of those that `of_schedule` stands for.
  void add(const std::vector<int>& ranks, int of_schedule, int whole) {
    const auto [part, is_new] = by_ranks_.try_emplace(ranks);
    if (is_new) part->second = {schedule_, ranks, std::vector<std::vector<int>>(at(schedule_.chunks))};
    part->second.chunks[at(of_schedule)].push_back(whole);
  }

  std::vector<Part> parts() const {
    std::vector<Part> parts;
    parts.reserve(by_ranks_.size());
    for (const auto& [ranks, part] : by_ranks_) parts.push_back(part);
    return parts;
  }

 private:
  Schedule schedule_;
  std::map<std::vector<int>, Part> by_ranks_;
};

/// Of each chunk of a host's schedule the rank of it that takes part between hosts: who makes the host's sum of it, who
/// begins with it, or the root.
std::vector<int> takers_of(const Schedule& schedule) {
  std::vector<int> ranks;
  ranks.reserve(at(schedule.chunks));
  if (is_reduction(schedule.collective)) {
    for (const std::vector<int>& finishers : finishers_of(schedule)) ranks.push_back(finishers.front());
    return ranks;
  }
  const bool is_of_root = has_root(schedule.collective);
  for (int chunk = 0; chunk < schedule.chunks; ++chunk) {
    ranks.push_back(is_of_root ? schedule.root : owner_of(schedule, chunk));
  }
  return ranks;
}

struct Stages {
  int chunks = 0;
  std::vector<Part> within;
  std::vector<Part> between;
  std::vector<Part> after;  ///< `within`, of what is for this host alone
};

/// Reduce_scatter and all_gather, whose chunks belong to ranks. The ranks that stand at the same place of their hosts
/// are a lane, in which a host that has no such rank is stood in for by another of its own. GLOBAL runs in each lane,
/// of the blocks of its ranks, and LOCAL on each host, where a rank has to do with the blocks of its lanes.
class Lanes {
 public:
  Lanes(const ScheduleRequest& request, const Algorithm& local, const Algorithm& global, const Hosts& hosts)
      : hosts_(hosts),
        between_(global.build({.collective = request.collective, .ranks = static_cast<int>(hosts.size())})) {
    std::int64_t pieces = between_.schedule().chunks / between_.schedule().ranks;
    for (const std::vector<int>& ranks : hosts_) {
      lanes_ = std::max(lanes_, ranks.size());
      const auto [schedule, is_new] = local_.try_emplace(ranks.size());
      if (!is_new) continue;
      schedule->second = local.build({.collective = request.collective, .ranks = static_cast<int>(ranks.size())});
      takers_[ranks.size()] = takers_of(schedule->second);
      pieces = std::lcm(pieces, schedule->second.chunks / schedule->second.ranks);
      require_few_chunks(request.ranks * pieces, request);
    }
    pieces_ = static_cast<int>(pieces);
  }

  Stages stages(const ScheduleRequest& request) {
    Stages stages{.chunks = request.ranks * pieces_, .within = {}, .between = between(), .after = {}};
    for (const std::vector<int>& ranks : hosts_) {
      const Schedule& schedule = local_.at(ranks.size());
      Part part{schedule, ranks, std::vector<std::vector<int>>(at(schedule.chunks))};
      stages.after.push_back(part);
      add_blocks(stages.after.back(), ranks);
      for (const std::vector<int>& others : hosts_) add_blocks(part, others);
      stages.within.push_back(std::move(part));
    }
    return stages;
  }

 private:
  /// Of a schedule on such hosts the chunk that stands for a piece of a block in the lane.
  int chunk_of(const Schedule& schedule, std::size_t lane, int piece) const {
    const int cut = schedule.chunks / schedule.ranks;
    return static_cast<int>(lane) % schedule.ranks * cut + piece * cut / pieces_;
  }

  /// To a host's part the blocks of the ranks of a host.
  void add_blocks(Part& part, const std::vector<int>& ranks) const {
    for (std::size_t lane = 0; lane < ranks.size(); ++lane) {
      for (int piece = 0; piece < pieces_; ++piece) {
        part.chunks[at(chunk_of(part.schedule, lane, piece))].push_back(ranks[lane] * pieces_ + piece);
      }
    }
  }

  std::vector<int> takers(std::size_t lane, int piece) const {
    std::vector<int> ranks;
    ranks.reserve(hosts_.size());
    for (const std::vector<int>& host : hosts_) {
      const int chunk = chunk_of(local_.at(host.size()), lane, piece);
      ranks.push_back(host[at(takers_.at(host.size())[at(chunk)])]);
    }
    return ranks;
  }

  std::vector<Part> between() {
    for (std::size_t lane = 0; lane < lanes_; ++lane) {
      for (int piece = 0; piece < pieces_; ++piece) {
        const std::vector<int> ranks = takers(lane, piece);
        for (std::size_t host = 0; host < hosts_.size(); ++host) {
          if (lane >= hosts_[host].size()) continue;
          between_.add(ranks, chunk_of(between_.schedule(), host, piece), hosts_[host][lane] * pieces_ + piece);
        }
      }
    }
    return between_.parts();
  }

  const Hosts& hosts_;
  BetweenHosts between_;
  std::map<std::size_t, Schedule> local_;           ///< by ranks on a host
  std::map<std::size_t, std::vector<int>> takers_;  ///< of these
  std::size_t lanes_ = 0;
  int pieces_ = 1;
};

/// Broadcast and reduce. What a host is told its first rank hears, but on the root's host the root.
class Rooted {
 public:
  Rooted(const ScheduleRequest& request, const Algorithm& local, const Algorithm& global, const Hosts& hosts) {
    for (std::size_t host = 0; host < hosts.size(); ++host) {
      const auto root = std::find(hosts[host].begin(), hosts[host].end(), request.root);
      if (root != hosts[host].end()) root_host_ = host;
      const int place = root != hosts[host].end() ? static_cast<int>(root - hosts[host].begin()) : 0;
      const auto ranks = static_cast<int>(hosts[host].size());
      within_.push_back(
          {local.build({.collective = request.collective, .ranks = ranks, .root = place}), hosts[host], {}});
      takers_.push_back(takers_of(within_.back().schedule));
      chunks_ = std::lcm(chunks_, within_.back().schedule.chunks);
      require_few_chunks(chunks_, request);
    }
    global_ = global.build({.collective = request.collective,
                            .ranks = static_cast<int>(hosts.size()),
                            .root = static_cast<int>(root_host_)});
    chunks_ = std::lcm(chunks_, global_.chunks);
    require_few_chunks(chunks_, request);
  }

  Stages stages() {
    BetweenHosts between(global_);
    for (Part& part : within_) part.chunks.resize(at(part.schedule.chunks));
    for (int chunk = 0; chunk < chunks_; ++chunk) {
      for (Part& part : within_) part.chunks[at(chunk_of(part.schedule, chunk))].push_back(chunk);
      between.add(takers(chunk), chunk_of(global_, chunk), chunk);
    }
    return {.chunks = static_cast<int>(chunks_),
            .within = within_,
            .between = between.parts(),
            .after = {within_[root_host_]}};
  }

 private:
  int chunk_of(const Schedule& schedule, std::int64_t whole) const {
    return static_cast<int>(whole * schedule.chunks / chunks_);
  }

  std::vector<int> takers(int chunk) const {
    std::vector<int> ranks;
    ranks.reserve(within_.size());
    for (std::size_t host = 0; host < within_.size(); ++host) {
      const Part& part = within_[host];
      ranks.push_back(part.ranks[at(takers_[host][at(chunk_of(part.schedule, chunk))])]);
    }
    return ranks;
  }

  std::size_t root_host_ = 0;
  std::vector<Part> within_;
  std::vector<std::vector<int>> takers_;  ///< of these
  Schedule global_;
  std::int64_t chunks_ = 1;
};

}  // namespace

Schedule hierarchical_in_stages(std::string_view name, const ScheduleRequest& request, const Algorithm& local,
                                const Algorithm& global, const std::vector<std::vector<int>>& hosts) {
  const Stages stages = has_root(request.collective) ? Rooted(request, local, global, hosts).stages()
                                                     : Lanes(request, local, global, hosts).stages(request);
  ScheduleBuilder s = begin(name, request, stages.chunks);
  if (!is_reduction(request.collective)) {
    side_by_side(s, stages.between);
    side_by_side(s, stages.within);
    return s.take();
  }
  // A sum of one host's is not copied, which would tell that it is all (schedule/view.h): what LOCAL copies waits.
  side_by_side(s, stages.within, TransferKind::kReduce);
  side_by_side(s, stages.between);
  side_by_side(s, stages.after, TransferKind::kCopy);
  return s.take();
}

}  // namespace lockstep::algorithm
