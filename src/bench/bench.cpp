#include "bench/bench.h"

#include "algorithms/catalog.h"
#include "base/environment.h"
#include "base/refuse.h"
#include "base/units.h"
#include "bench/group_subject.h"
#include "bench/memory.h"
#include "bench/parts.h"
#include "bench/rounds.h"
#include "bench/row.h"
#include "bench/statistics.h"
#include "group/identity.h"
#include "group/opened.h"
#include "topology/caches.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace lockstep::bench {

namespace {

/// Algorithms take turns in so many rounds, so that a disturbance hits all alike.
constexpr std::size_t kRounds = 12;
constexpr std::size_t kProbes = 3;
constexpr double kFewestIterations = 10;
constexpr double kMostIterations = 1e7;  // 80 MB of readings, of an algorithm at one size

/// Who measures: all ranks, between which it is agreed, in groups, in each of which operations run.
struct Company {
  const World& all;
  Group own;
};

/// One algorithm in the running.
struct Candidate {
  std::string ran;
  bool picked;
  bool from_file;
  bool as_auto = false;  ///< as Row's
  std::unique_ptr<Subject> subject;
  std::size_t batch = 1;
  std::size_t iterations = 0;
  std::vector<double> seconds{};
  std::uint64_t wrong = 0;
};

double slowest_one(const World& world, double value) { return slowest(world, {value}).front(); }

/// Buffers for all sizes, allocated once, so that pages are not faulted in again for each.
class BufferMemory {
 public:
  BufferMemory(const Group& group, std::size_t bytes, bool plain) {
    if (plain) {
      plain_ = allocate_plain(bytes);
    } else {
      registered_ = group.allocate(bytes);
    }
  }
  void* data() const { return plain_ ? plain_.get() : registered_.data(); }

 private:
  PlainMemory plain_;
  RegisteredMemory registered_;
};

/// The memory traffic of copies on all ranks at once, sampled over the whole run: on a shared host it changes within
/// one.
class LimitMeter {
 public:
  LimitMeter(const World& world, std::size_t cache_bytes) : world_(world), probe_(cache_bytes) { probe_.run(); }
  /// Copies so many times; the limit in GB/s by all copies so far.
  double sample(int copies) {
    for (int i = 0; i < copies; ++i) {
      world_.barrier().wait();
      const auto start = std::chrono::steady_clock::now();
      probe_.run();
      world_.barrier().wait();  // ranks that share a core copy one after the other
      seconds_.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    }
    return world_.size() * probe_.traffic_bytes() / median(slowest(world_, seconds_)) / 1e9;
  }

 private:
  const World& world_;
  CopyProbe probe_;
  std::vector<double> seconds_;
};

Medium medium_of(const Group& group) { return detail::Opened(group).state().engine().medium(); }

/// What runs under a name.
std::string algorithm_for(const Group& group, const Options& options, std::size_t bytes, const std::string& name) {
  return group.algorithm_for(options.collective, bytes, {.algorithm = name}, options.dtype, !options.plain);
}

/// A composition may have no chunks that fit all hosts, and an algorithm may not sum in canonical order. What else is
/// wrong is so of all of them.
bool runs(const Group& group, const Options& options, std::size_t bytes, const std::string& name) {
  try {
    (void)find_algorithm(name).build({.collective = options.collective,
                                      .ranks = group.size(),
                                      .root = options.root,
                                      .only_rank = 0,
                                      .hosts = group.hosts()});
    (void)algorithm_for(group, options, bytes, name);
    return true;
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kInvalidArgument) throw;
    return false;
  }
}

/// What runs at one size, by the names that ask for it.
struct Names {
  std::vector<std::string> to_run;
  std::vector<std::string> not_run;  ///< of all, those that do not fit
  std::string file;                  ///< of those that run the schedule from a file; empty: there is none
};

/// `file` is what the group calls the schedule that it has loaded.
Names names_at(std::size_t bytes, const Options& options, const Group& group, const std::string& file) {
  Names names;
  if (options.algorithm == "all") {
    for (std::string& name : all_algorithms(options.collective, group.hosts())) {
      (runs(group, options, bytes, name) ? names.to_run : names.not_run).push_back(std::move(name));
    }
    // No MPI reduces 16-bit floats.
    if (medium_of(group) == Medium::kMpi && size_of(options.dtype) > 2) names.to_run.emplace_back(kVendor);
    names.to_run.emplace_back("auto");
  } else if (!options.algorithm.empty()) {
    names.to_run.push_back(options.algorithm);
  }
  if (!file.empty()) names.to_run.push_back(file);
  names.file = file;
  return names;
}

/// Each name once.
void add_names(const std::vector<std::string>& names, std::vector<std::string>& all) {
  for (const std::string& name : names) {
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
}

/// Each rank compares its own part of the schedules: those of many ranks are long.
void note_who_runs_as_auto(const Company& company, const Options& options, std::vector<Candidate>& candidates) {
  const auto picked =
      std::find_if(candidates.begin(), candidates.end(), [](const Candidate& one) { return one.picked; });
  if (picked == candidates.end()) return;
  std::vector<std::string> names{picked->ran};
  for (const Candidate& one : candidates) {
    if (!one.from_file) names.push_back(one.ran);
  }
  const auto first = first_alike(names, {.collective = options.collective,
                                         .ranks = company.own.size(),
                                         .root = options.root,
                                         .only_rank = company.own.rank(),
                                         .hosts = company.own.hosts()});
  std::vector<double> differs;
  differs.reserve(candidates.size());
  for (const Candidate& one : candidates) differs.push_back(one.from_file || first.at(one.ran) != picked->ran ? 1 : 0);
  differs = slowest(company.all, std::move(differs));
  for (std::size_t i = 0; i < candidates.size(); ++i) candidates[i].as_auto = differs[i] == 0;
}

std::vector<Candidate> make_candidates(const Company& company, const Options& options, std::size_t bytes,
                                       const Names& names) {
  std::vector<Candidate> candidates;
  candidates.reserve(names.to_run.size());
  for (const std::string& name : names.to_run) {
    candidates.push_back({.ran = algorithm_for(company.own, options, bytes, name),
                          .picked = name == "auto",
                          .from_file = name == names.file,
                          .subject = std::make_unique<GroupSubject>(
                              company.all, company.own, options.collective,
                              Choices{.op = options.op, .root = options.root, .options = {.algorithm = name}})});
  }
  note_who_runs_as_auto(company, options, candidates);
  return candidates;
}

/// Operations an iteration that suit this one; it runs a few times, so that plans are made and pages are there.
std::size_t fitting_batch(const World& world, Workload& workload, Candidate& candidate) {
  std::vector<double> seconds;
  const std::size_t first_pass = workload.layout().uses == 1 ? workload.layout().slots : 1;
  run_round(*candidate.subject, workload, {.batch = first_pass}, seconds);
  const std::size_t batch = find_batch(workload.layout(), [&](std::size_t operations) {
    seconds.clear();
    run_round(*candidate.subject, workload, {.iterations = kProbes, .batch = operations}, seconds);
    return slowest_one(world, median(seconds));
  });
  candidate.wrong += workload.take_wrong();
  return batch;
}

/// Makes all ready, and gives each its iterations, by how long one with all around it takes. The batch is that of the
/// fastest for all: what a barrier adds to an operation must not tell one from another.
void warm_up(const World& world, const Options& options, Workload& workload, std::vector<Candidate>& candidates) {
  std::size_t batch = 1;
  for (Candidate& candidate : candidates) batch = std::max(batch, fitting_batch(world, workload, candidate));
  for (Candidate& candidate : candidates) {
    candidate.batch = batch;
    std::vector<double> seconds;
    const auto start = std::chrono::steady_clock::now();
    const auto probed =
        static_cast<double>(run_round(*candidate.subject, workload, {.iterations = kProbes, .batch = batch}, seconds));
    candidate.wrong += workload.take_wrong();
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const double wanted = std::chrono::duration<double>(options.min_time).count() * probed / taken.count();
    candidate.iterations =
        static_cast<std::size_t>(slowest_one(world, std::clamp(wanted, kFewestIterations, kMostIterations)));
  }
}

Row make_row(const World& world, const Shape& shape, Candidate& candidate) {
  Row row{.bytes = shape.bytes(),
          .count = shape.count,
          .algorithm = candidate.ran,
          .picked = candidate.picked,
          .from_file = candidate.from_file,
          .as_auto = candidate.as_auto,
          .batch = candidate.batch};
  const RankTimes times{.seconds = std::move(candidate.seconds), .rounds = kRounds, .wrong = candidate.wrong};
  sum_up(world, shape, times, row);
  return row;
}

std::vector<Row> measure_size(const Company& company, const Options& options, Workload workload, const Shape& shape,
                              const Names& names) {
  std::vector<Candidate> candidates = make_candidates(company, options, shape.bytes(), names);
  warm_up(company.all, options, workload, candidates);
  for (std::size_t round = 0; round < kRounds; ++round) {
    for (const std::size_t turn : order_of_round(round, candidates.size())) {
      Candidate& candidate = candidates[turn];
      const std::size_t iterations = (candidate.iterations + kRounds - 1) / kRounds;
      run_round(*candidate.subject, workload, {iterations, candidate.batch}, candidate.seconds);
      candidate.wrong += workload.take_wrong();
    }
  }
  std::vector<Row> rows;
  rows.reserve(candidates.size());
  for (Candidate& candidate : candidates) rows.push_back(make_row(company.all, shape, candidate));
  return rows;
}

}  // namespace

void check(const Options& options) {
  if (options.factor < 2) refuse("--factor multiplies one size to give the next; it is a whole number from 2 up.");
  if (options.cache_bytes == 0) refuse("--cache-bytes is 0; leave it out for what the system says of the cache.");
  if (options.collective == Collective::kBarrier) return;
  if (options.min_bytes < size_of(options.dtype)) {
    refuse(fmt::format("--min-bytes is {}, less than one element of {}.", options.min_bytes, to_string(options.dtype)));
  }
  if (options.max_bytes < options.min_bytes) {
    refuse(fmt::format("--max-bytes is {}, less than --min-bytes, which is {}.", options.max_bytes, options.min_bytes));
  }
}

std::vector<std::size_t> sizes(const Options& options, int ranks) {
  if (options.collective == Collective::kBarrier) return {0};
  std::vector<std::size_t> result;
  for (std::uint64_t bytes = options.min_bytes; bytes <= options.max_bytes; bytes *= options.factor) {
    std::size_t whole = whole_bytes(options.collective, bytes, options.dtype, ranks);
    if (whole < options.min_bytes) whole += whole_bytes(options.collective, 0, options.dtype, ranks);
    const bool is_new = result.empty() || result.back() != whole;
    if (is_new && whole <= options.max_bytes) result.push_back(whole);
    if (bytes > options.max_bytes / options.factor) break;
  }
  if (result.empty()) {
    refuse(fmt::format("--max-bytes is {}, and the smallest {} of {} has {} bytes: a block of {} for each.",
                       options.max_bytes, to_string(options.collective),
                       counted(static_cast<std::uint64_t>(ranks), "rank"),
                       whole_bytes(options.collective, 0, options.dtype, ranks), to_string(options.dtype)));
  }
  return result;
}

bool in_a_job() { return identify_from_environment().size > 1; }

void pretend_hosts(int ranks_a_host) {
  const std::string host = fmt::format("pretended-{}", identify_from_environment().rank / ranks_a_host);
  ::setenv(kHostVariable, host.c_str(), 1);
}

Result run(const World& world, const Options& options, const Progress& progress) {
  check(options);
  const Company company{.all = world, .own = part_of(world, options)};
  const Group& group = company.own;
  if (options.root >= group.size()) {
    refuse(fmt::format("--root says {}, and there are {} ranks.", options.root, group.size()));
  }
  const std::string file = options.schedule.empty() ? "" : group.load_schedule(options.schedule);
  const std::size_t cache_bytes = options.cache_bytes.value_or(last_level_cache_bytes());
  Result result{.options = options,
                .world_size = world.size(),
                .hosts = world.hosts(),
                .transport = std::string(to_string(medium_of(world)))};
  result.options.cache_bytes = cache_bytes;
  LimitMeter limit(world, cache_bytes);
  result.limit_gb_per_s = limit.sample(9);
  const auto report = [&](const Row* row) {
    if (world.rank() == 0 && progress) progress(result, row);
  };
  report(nullptr);

  std::vector<std::pair<Pattern, Layout>> work;
  std::size_t most_bytes = 1;
  for (const std::size_t bytes : sizes(options, group.size())) {
    const Pattern pattern(Shape{.collective = options.collective,
                                .dtype = options.dtype,
                                .op = options.op,
                                .rank = group.rank(),
                                .ranks = group.size(),
                                .root = options.root,
                                .count = bytes / size_of(options.dtype)});
    work.emplace_back(pattern, make_layout(pattern, options.cold, cache_bytes));
    most_bytes = std::max(most_bytes, work.back().second.bytes());
  }
  const BufferMemory memory(group, most_bytes, options.plain);
  for (const auto& [pattern, layout] : work) {
    const Shape& shape = pattern.shape();
    const Names names = names_at(shape.bytes(), options, group, file);
    add_names(names.not_run, result.not_run);
    for (const Row& row : measure_size(company, options, Workload(pattern, layout, memory.data()), shape, names)) {
      result.rows.push_back(row);
      report(&row);
    }
    result.limit_gb_per_s = limit.sample(3);
  }
  return result;
}

}  // namespace lockstep::bench
