#include "algorithms/catalog.h"

#include "algorithms/pieces.h"
#include "base/collective.h"
#include "base/nearest.h"
#include "schedule/ranges.h"
#include "schedule/relabelled.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lockstep/error.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace lockstep {

namespace {

constexpr std::string_view kHierarchical = "hierarchical";
constexpr std::string_view kSegmented = "segmented";

/// What a composition does, if both of its parts do.
constexpr std::array kComposed{Collective::kAllReduce, Collective::kReduceScatter, Collective::kAllGather,
                               Collective::kBroadcast, Collective::kReduce,        Collective::kBarrier};

/// Gives neighbouring places to the ranks of a host, for algorithms in which neighbours talk.
template <Schedule (*write)(const ScheduleRequest&)>
Schedule along_hosts(const ScheduleRequest& request) {
  if (request.hosts.empty()) return write(request);
  const std::vector<int> order = order_by_host(request.hosts);
  const std::vector<int> place_of = inverse_of(order);
  const auto place = [&](int rank) {  // a rank that is not there is for the builder to refuse
    return rank >= 0 && rank < request.ranks ? place_of[static_cast<std::size_t>(rank)] : rank;
  };
  ScheduleRequest in_order = request;
  in_order.hosts.clear();
  in_order.root = place(request.root);
  if (request.only_rank) in_order.only_rank = place(*request.only_rank);
  return relabelled(write(in_order), order);
}

/// "word" itself, or "word:" and what follows.
bool begins_with_word(std::string_view name, std::string_view word) { return name.substr(0, name.find(':')) == word; }

bool is_composition(std::string_view name) { return begins_with_word(name, kHierarchical); }
bool is_pipeline(std::string_view name) { return begins_with_word(name, kSegmented); }

/// Of "word:rest".
std::string_view after_word(std::string_view name, std::string_view word) {
  return name.substr(std::min(name.size(), word.size() + 1));
}

}  // namespace

std::optional<Composition> composition_of(std::string_view name) {
  if (!is_composition(name)) return std::nullopt;
  const std::string_view parts = after_word(name, kHierarchical);
  const std::size_t comma = parts.find(',');
  if (comma == std::string_view::npos) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' takes two algorithms, one within hosts and one between them, as in: {}:direct,ring",
                            kHierarchical, kHierarchical));
  }
  const std::string_view local = parts.substr(0, comma);
  const std::string_view global = parts.substr(comma + 1);
  for (const std::string_view part : {local, global}) {
    if (is_pipeline(part)) {
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("'{0}' composes two plain algorithms, and '{1}' is a pipeline; make one of the whole "
                              "composition, as in: {2}:8:{0}:direct,ring",
                              kHierarchical, part, kSegmented));
    }
    if (!is_composition(part)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' composes two plain algorithms, and '{}' is a composition itself; name one of: {}.",
                            kHierarchical, part, fmt::join(algorithms_for(Collective::kAllReduce), ", ")));
  }
  return Composition{std::string(local), std::string(global)};
}

std::optional<Pipeline> pipeline_of(std::string_view name) {
  if (!is_pipeline(name)) return std::nullopt;
  const std::string_view parts = after_word(name, kSegmented);
  const std::string_view number = parts.substr(0, parts.find(':'));
  const std::string_view algorithm = after_word(parts, number);
  if (number.empty() || algorithm.empty()) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' takes a number of segments and an algorithm, as in: {}:8:double_tree", kSegmented,
                            kSegmented));
  }
  Pipeline pipeline{.segments = 0, .algorithm = std::string(algorithm)};
  const char* const end = number.data() + number.size();
  const auto [parsed, error] = std::from_chars(number.data(), end, pipeline.segments);
  if (error != std::errc{} || parsed != end || pipeline.segments < 1 || pipeline.segments > kMostChunks) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' takes a number of segments from 1 to {}; '{}' is not one.", kSegmented, kMostChunks, number));
  }
  if (is_pipeline(algorithm)) {
    throw Error(
        ErrorCode::kInvalidArgument,
        fmt::format("'{}' cuts the chunks of an algorithm or a composition, and '{}' is a pipeline itself; give "
                    "one number of segments.",
                    kSegmented, algorithm));
  }
  return pipeline;
}

namespace {

Algorithm in_segments(const Pipeline& parts) {
  const Algorithm inner = find_algorithm(parts.algorithm);
  const int segments = parts.segments;
  return {fmt::format("{}:{}:{}", kSegmented, segments, inner.name),
          fmt::format("{} as a pipeline: {} segments of each chunk follow each other through its steps", inner.name,
                      segments),
          inner.collectives,
          [inner, segments](const ScheduleRequest& request) { return algorithm::pipeline(request, inner, segments); },
          "for large buffers where ranks wait for whole chunks before they pass them on"};
}

Algorithm composed(std::string_view name, const Composition& parts) {
  const Algorithm local = find_algorithm(parts.local);
  const Algorithm global = find_algorithm(parts.global);
  for (const Algorithm& part : {local, global}) {
    if (part.supports(Collective::kAllReduce)) continue;
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("'{}' composes algorithms that do an all_reduce, which '{}' does not; these do: {}.",
                            kHierarchical, part.name, fmt::join(algorithms_for(Collective::kAllReduce), ", ")));
  }
  std::vector<Collective> collectives;
  for (const Collective collective : kComposed) {
    if (local.supports(collective) && global.supports(collective)) collectives.push_back(collective);
  }
  return {std::string(name), fmt::format("{} within hosts, {} between them", local.name, global.name),
          std::move(collectives),
          [local, global](const ScheduleRequest& request) { return algorithm::hierarchical(request, local, global); },
          "on several hosts whose ranks are closer to each other than to the others: one buffer a host crosses"};
}

/// In which a rank has to do with the same others in every step.
std::vector<Algorithm> of_fixed_partners() {
  using enum Collective;
  return {
      {"naive",
       "everybody sends everything to everybody; 1 step",
       {kAllReduce, kBarrier},
       algorithm::naive,
       "on a few ranks with small buffers: nothing is faster than one step, but every rank receives (p-1) times the "
       "buffer"},
      {"star",
       "one rank hears from all and answers all; 2 steps",
       {kAllReduce, kBroadcast, kReduce, kGather, kScatter, kBarrier},
       algorithm::star,
       "where one rank is to decide or to print, and as the plain example of what the others avoid: all bytes pass "
       "through one rank"},
      {"direct",
       "everybody sums one chunk from all ranks and sends it to all; 2 steps",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kAllToAll, kBarrier},
       algorithm::direct,
       "on one host, where each rank reads its peers' memory and sums it in one pass, and on networks where everybody "
       "reaches everybody at full speed"},
      {"ring",
       "chunks travel around a ring, summed on the way, then back out; 2(p-1) steps",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kBarrier},
       along_hosts<algorithm::ring>,
       "for large buffers on any network in which neighbours are close: each rank speaks to two others only; on many "
       "ranks small buffers wait for its steps"},
      {"bidirectional_ring",
       "two rings, half of each chunk travels each way; 2(p-1) steps",
       {kAllReduce, kReduceScatter, kAllGather, kBarrier},
       along_hosts<algorithm::bidirectional_ring>,
       "as the ring, where a rank has a link of its own to each of its two neighbours, as in a torus; one port is "
       "shared by both ways"},
      {"tree",
       "sums go up a binomial tree and the result comes down; 2 ceil(log2 p) steps",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kReduce, kGather, kScatter, kBarrier},
       algorithm::tree,
       "for small buffers on many ranks, and where few ranks may speak at a time; large buffers pass whole through its "
       "inner ranks"},
      {"double_tree",
       "two trees for half of the data each, no rank inner in both; 2 floor(log2 p) steps",
       {kAllReduce, kBroadcast, kReduce, kBarrier},
       algorithm::double_tree,
       "for middle and large buffers on very many ranks, as a pipeline (segmented:K:double_tree): few steps, and "
       "links busy both ways; in one segment most wait for the next level"},
  };
}

/// In which it has to do with another in each.
std::vector<Algorithm> of_changing_partners() {
  using enum Collective;
  return {
      {"recursive_doubling",
       "partners at distance 1, 2, 4 exchange all they have; floor(log2 p) steps, 2 more unless p is a power of 2",
       {kAllReduce, kAllGather, kBarrier},
       algorithm::recursive_doubling,
       "for small buffers on many ranks, best of all on a power of two: few steps, in each of which the whole "
       "buffer is sent"},
      {"halving_doubling",
       "Rabenseifner's: halves are exchanged and summed, then doubled; 2 floor(log2 p) steps, 2 more unless p is a "
       "power of 2",
       {kAllReduce, kReduceScatter, kAllGather, kBarrier},
       algorithm::halving_doubling,
       "for large buffers on a power of two of ranks: few steps and least bytes; other numbers of ranks cost two steps "
       "more"},
      {"swing",
       "halves exchanged around a ring, at distance 1, 1, 3, 5, 11, then doubled; 2 floor(log2 p) steps, 2 more unless "
       "p is a power of 2",
       {kAllReduce, kReduceScatter, kAllGather, kBarrier},
       along_hosts<algorithm::swing>,
       "for middle buffers on a power of two of hosts in racks that share uplinks: as halving_doubling, with less that "
       "crosses them at a time"},
      {"circulant",
       "Traeff's: the least bytes, in few steps for any p; 2 ceil(log2 p) steps",
       {kAllReduce, kReduceScatter, kAllGather, kBroadcast, kBarrier},
       algorithm::circulant,
       "on a flat network of any number of ranks: as few steps as a tree and as few bytes as a ring"},
      {"pairwise",
       "in step k to the rank k places on; p-1 steps",
       {kAllToAll},
       algorithm::pairwise,
       "for an all_to_all of large blocks: in each step every rank sends one block and receives one"},
      {"dissemination",
       "in step k everybody tells the rank 2^k places on; ceil(log2 p) steps",
       {kBarrier},
       algorithm::dissemination,
       "for a barrier of any number of ranks on a network: the fewest steps, in each of which a rank sends one message "
       "and is sent one"},
  };
}

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static const std::vector<Algorithm> kAll = [] {
    std::vector<Algorithm> all = of_fixed_partners();
    const std::vector<Algorithm> others = of_changing_partners();
    all.insert(all.end(), others.begin(), others.end());
    return all;
  }();
  return kAll;
}

bool Algorithm::supports(Collective collective) const {
  return std::find(collectives.begin(), collectives.end(), collective) != collectives.end();
}

void Algorithm::require_support(Collective collective) const {
  if (supports(collective)) return;
  std::vector<std::string_view> done;
  for (const Collective one : collectives) done.push_back(to_string(one));
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("The algorithm '{}' does no {}, but {}; these do: {}.", name, to_string(collective),
                          fmt::join(done, ", "), fmt::join(algorithms_for(collective), ", ")));
}

Schedule Algorithm::build(const ScheduleRequest& request) const {
  if (!request.hosts.empty() && request.hosts.size() != static_cast<std::size_t>(request.ranks)) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("The hosts of {} ranks are given, of {} that there are; give each rank's, or none.",
                            request.hosts.size(), request.ranks));
  }
  require_support(request.collective);
  return write(request);
}

std::vector<std::string_view> algorithm_names() {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) names.push_back(algorithm.name);
  names.push_back("hierarchical:LOCAL,GLOBAL");
  names.push_back("segmented:K:ALGORITHM");
  return names;
}

std::vector<std::string_view> algorithms_for(Collective collective) {
  std::vector<std::string_view> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.supports(collective)) names.push_back(algorithm.name);
  }
  return names;
}

bool has_compositions(Collective collective, const std::vector<int>& hosts) {
  const bool is_composed = std::find(kComposed.begin(), kComposed.end(), collective) != kComposed.end();
  const std::size_t number = ranks_of_hosts(hosts).size();
  return is_composed && collective != Collective::kBarrier && number > 1 && number < hosts.size();
}

namespace {

std::vector<std::string_view> usual_compositions(Collective collective) {
  if (collective == Collective::kAllReduce) {
    return {"ring,ring",
            "direct,halving_doubling",
            "recursive_doubling,naive",
            "recursive_doubling,direct",
            "recursive_doubling,recursive_doubling",
            "circulant,direct",
            "circulant,recursive_doubling",
            "circulant,circulant",
            "circulant,swing"};
  }
  if (!has_root(collective)) return {"ring,ring", "circulant,direct", "circulant,circulant", "circulant,swing"};
  return {"ring,ring",     "tree,tree",        "tree,star",          "tree,direct",
          "direct,direct", "circulant,direct", "circulant,circulant"};
}

/// A pipeline is not worth its segments but where parts overlap.
std::vector<std::string> usual_pipelines(Collective collective) {
  if (has_root(collective)) return {};
  return {"segmented:8:hierarchical:circulant,ring", "segmented:16:hierarchical:circulant,ring"};
}

}  // namespace

std::vector<std::string> all_algorithms(Collective collective, const std::vector<int>& hosts) {
  std::vector<std::string> names;
  for (const std::string_view name : algorithms_for(collective)) names.emplace_back(name);
  if (!has_compositions(collective, hosts)) return names;
  for (const std::string_view parts : usual_compositions(collective)) {
    std::string name = fmt::format("{}:{}", kHierarchical, parts);
    if (find_algorithm(name).supports(collective)) names.push_back(std::move(name));
  }
  for (std::string& name : usual_pipelines(collective)) names.push_back(std::move(name));
  return names;
}

std::map<std::string, std::string> first_alike(const std::vector<std::string>& names, const ScheduleRequest& request) {
  std::map<std::string, std::string> first;
  std::vector<std::pair<std::string, Schedule>> seen;
  for (const std::string& name : names) {
    if (first.contains(name)) continue;
    first[name] = name;
    if (!is_algorithm(name)) continue;
    Schedule schedule = find_algorithm(name).build(request);
    schedule.name.clear();
    const auto same = std::find_if(seen.begin(), seen.end(), [&](const auto& one) { return one.second == schedule; });
    if (same != seen.end()) {
      first[name] = same->first;
    } else {
      seen.emplace_back(name, std::move(schedule));
    }
  }
  return first;
}

bool is_algorithm(std::string_view name) {
  return is_composition(name) || is_pipeline(name) ||
         std::any_of(algorithms().begin(), algorithms().end(),
                     [&](const Algorithm& algorithm) { return algorithm.name == name; });
}

Algorithm find_algorithm(std::string_view name) {
  if (const auto parts = composition_of(name)) return composed(name, *parts);
  if (const auto parts = pipeline_of(name)) return in_segments(*parts);
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
  }
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("There is no algorithm '{}'. {}", name, suggestion(name, algorithm_names())));
}

Algorithm find_algorithm(std::string_view name, std::string_view named_by) {
  try {
    return find_algorithm(name);
  } catch (const Error& error) {
    throw Error(error.code(), fmt::format("{}: {}", named_by, error.what()));
  }
}

}  // namespace lockstep
