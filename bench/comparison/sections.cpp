#include "bench/comparison/sections.h"

#include "base/atomic_file.h"
#include "base/scratch_folder.h"
#include "base/units.h"
#include "bench/comparison/conductor.h"
#include "bench/rounds.h"
#include "bench/statistics.h"
#include "topology/caches.h"
#include "topology/cpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>

namespace lockstep::compare {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kPatience(20);
constexpr std::size_t kFewestIterations = 10;
constexpr std::size_t kMostIterations = 5000;

std::vector<std::size_t> sizes_from(std::size_t first, std::size_t last, std::size_t factor) {
  std::vector<std::size_t> sizes;
  for (std::size_t bytes = first; bytes <= last; bytes *= factor) sizes.push_back(bytes);
  return sizes;
}

std::vector<Subject> shared_memory_subjects() {
  return {{"Lockstep, registered", "lockstep", false},
          {"Lockstep, plain", "lockstep", true},
          {"Open MPI", "open_mpi", true},
          {"Gloo", "gloo", true}};
}

std::vector<Subject> tcp_subjects() {
  return {{"Lockstep, TCP", "lockstep", false}, {"Open MPI, TCP", "open_mpi", true}, {"Gloo", "gloo", true}};
}

PeerPlan plan_for(const std::string& program, const Section& section, const fs::path& programs) {
  const std::string ranks = std::to_string(section.ranks);
  const std::string path = (programs / ("compare_" + program)).string();
  if (program != "open_mpi") {
    PeerPlan plan{program, {(programs / "lockstep").string(), "run", "-n", ranks}, {}, section.ranks};
    // Its two threads do not get on on one core: 4 ms an operation instead of 0.1.
    if (program == "gloo") plan.command.push_back("--no-pin");
    plan.command.push_back(path);
    if (program == "lockstep")
      plan.environment.push_back(section.tcp ? "LOCKSTEP_TRANSPORT=tcp" : "LOCKSTEP_TRANSPORT=auto");
    return plan;
  }
  PeerPlan plan{program, {"mpirun", "-n", ranks, "--allow-run-as-root", "--oversubscribe"}, {}, section.ranks};
  const bool share_cores = section.ranks > available_cpus().cores;
  const auto add = [&](const std::vector<std::string>& words) {
    plan.command.insert(plan.command.end(), words.begin(), words.end());
  };
  add({"--bind-to", share_cores ? "none" : "core", "--mca", "mpi_yield_when_idle", share_cores ? "1" : "0"});
  if (section.tcp) add({"--mca", "btl", "tcp,self", "--mca", "btl_tcp_if_include", "lo", "--mca", "pml", "ob1"});
  add({path});
  return plan;
}

bench::Layout layout_of(const Section& section, std::size_t bytes) {
  return bench::make_layout(bench::Pattern({.ranks = section.ranks, .count = bytes / sizeof(float)}), section.cold,
                            last_level_cache_bytes());
}

/// An answer that comes later is none. Buffers are filled, and checked afterwards, once a batch has used them up.
std::chrono::milliseconds patience_for(const Section& section, std::size_t bytes, const bench::Round& round) {
  constexpr double kLeastFilledInAMillisecond = 2e5;
  const bench::Layout layout = layout_of(section, bytes);
  const double fills =
      1 + static_cast<double>(round.iterations * round.batch) / static_cast<double>(layout.operations());
  const double filled = fills * static_cast<double>(layout.slots * layout.stride) * section.ranks;
  return kPatience + std::chrono::milliseconds(static_cast<std::int64_t>(filled / kLeastFilledInAMillisecond));
}

/// A program's ranks; subjects that differ only in memory share them.
struct RunningWorld {
  std::string program;
  std::unique_ptr<ScratchFolder> folder;
  std::unique_ptr<PeerWorld> world;
};

struct Runner {
  const Subject* subject;
  PeerWorld* world;
  std::size_t batch = 1;
  double operation_s = 0;
  std::size_t iterations = 0;
  std::vector<double> seconds{};
  std::uint64_t wrong = 0;

  /// Asks for a round; a subject that has stopped answering is passed over. Returns what this took, in seconds.
  double run(const Section& section, std::size_t bytes, const bench::Round& round) {
    const auto start = std::chrono::steady_clock::now();
    const auto answer = world->ask(
        fmt::format("measure {} {:d} {:d} {} {}", bytes, section.cold, subject->plain, round.iterations, round.batch),
        patience_for(section, bytes, round));
    if (!answer) return 0;
    seconds.insert(seconds.end(), answer->seconds.begin(), answer->seconds.end());
    wrong += answer->wrong;
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
};

/// Cores of a shared host are near each other or far for a second or less: what takes little is gone over more often,
/// so that all subjects meet both.
std::size_t rounds_of(std::size_t bytes) {
  constexpr std::size_t kSmallBytes = 1 << 20;
  return bytes <= kSmallBytes ? 25 : 5;
}

constexpr std::size_t kProbes = 3;

/// The batch that suits this one alone.
void find_own_batch(const Section& section, std::size_t bytes, Runner& runner) {
  const bench::Layout layout = layout_of(section, bytes);
  runner.run(section, bytes, {.iterations = 1, .batch = section.cold ? layout.slots : 1});
  runner.batch = bench::find_batch(layout, [&](std::size_t batch) {
    runner.seconds.clear();
    runner.run(section, bytes, {.iterations = kProbes, .batch = batch});
    return runner.operation_s = bench::median(runner.seconds);
  });
}

void share_batch(std::vector<Runner>& runners) {
  std::size_t most = 1;
  for (const Runner& runner : runners) most = std::max(most, runner.batch);
  for (Runner& runner : runners) runner.batch = bench::batch_beside(most, runner.batch, runner.operation_s);
}

void choose_iterations(const Section& section, std::size_t bytes, const RunOptions& options, Runner& runner) {
  const double taken = runner.run(section, bytes, {.iterations = kProbes, .batch = runner.batch});
  runner.seconds.clear();
  const std::size_t rounds = rounds_of(bytes);
  const double wanted = options.min_seconds * kProbes / std::max(taken, 1e-6) / static_cast<double>(rounds);
  runner.iterations = std::clamp(static_cast<std::size_t>(wanted), std::max<std::size_t>(1, kFewestIterations / rounds),
                                 kMostIterations / rounds);
}

std::vector<Cell> measure_size(const Section& section, std::size_t bytes, const RunOptions& options,
                               std::vector<Runner> runners) {
  for (Runner& runner : runners) find_own_batch(section, bytes, runner);
  share_batch(runners);
  for (Runner& runner : runners) choose_iterations(section, bytes, options, runner);
  std::vector<double> copy_seconds;
  for (std::size_t round = 0; round < rounds_of(bytes); ++round) {
    for (const std::size_t turn : bench::order_of_round(round, runners.size())) {
      Runner& runner = runners[turn];
      runner.run(section, bytes, {runner.iterations, runner.batch});
    }
    if (!section.cold) continue;
    if (const auto copies = runners.front().world->ask("copy 3", kPatience)) {
      copy_seconds.insert(copy_seconds.end(), copies->seconds.begin(), copies->seconds.end());
    }
  }
  std::vector<Cell> cells;
  for (const Runner& runner : runners) {
    const bool silent = !runner.world->failure().empty();
    const std::vector<double> seconds = silent ? std::vector<double>() : runner.seconds;
    cells.push_back({runner.subject->label, bytes, bench::median(seconds) * 1e6, bench::percentile(seconds, 0.99) * 1e6,
                     runner.wrong, seconds.size()});
    if (silent) {
      fmt::print("{:>8} {:>10} {:<22} {}\n", section.name, format_bytes(bytes), runner.subject->label,
                 runner.world->failure());
      continue;
    }
    fmt::print("{:>8} {:>10} {:<22} {:>12.2f} us {:>12.2f} us{}\n", section.name, format_bytes(bytes),
               runner.subject->label, cells.back().median_us, cells.back().p99_us, runner.wrong > 0 ? "  WRONG" : "");
  }
  std::fflush(stdout);
  if (section.cold) {
    const double share = static_cast<double>(bytes) / static_cast<double>(last_level_cache_bytes());
    cells.push_back({kLimitSubject, bytes, bench::median(copy_seconds) * share * 1e6, 0, 0, copy_seconds.size()});
  }
  return cells;
}

}  // namespace

std::vector<Section> all_sections() {
  constexpr std::size_t kMiB = 1 << 20;
  std::vector<Section> sections;
  std::vector<std::size_t> sizes = sizes_from(4, 4096, 4);
  sizes.push_back(8192);
  for (const std::size_t bytes : sizes_from(16384, 64 * kMiB, 4)) sizes.push_back(bytes);
  for (const int ranks : {2, 4, 8}) {
    sections.push_back(
        {.name = fmt::format("shm-{}", ranks), .ranks = ranks, .sizes = sizes, .subjects = shared_memory_subjects()});
  }
  sections.push_back({.name = "cold-2",
                      .cold = true,
                      .sizes = sizes_from(16 * kMiB, 64 * kMiB, 2),
                      .subjects = shared_memory_subjects()});
  for (const int ranks : {2, 4}) {
    sections.push_back({.name = fmt::format("tcp-{}", ranks),
                        .ranks = ranks,
                        .tcp = true,
                        .sizes = sizes,
                        .subjects = tcp_subjects()});
  }
  sections.push_back({.name = "shaped-2",
                      .tcp = true,
                      .shaped = true,
                      .sizes = sizes_from(16 * kMiB, 64 * kMiB, 4),
                      .subjects = tcp_subjects()});
  return sections;
}

std::vector<Section> quick_sections() {
  return {{.name = "quick-2", .sizes = {4, 16384}, .subjects = shared_memory_subjects()},
          {.name = "quick-cold-2", .cold = true, .sizes = {1 << 20}, .subjects = {shared_memory_subjects().front()}}};
}

const Cell* SectionResult::find(const std::string& subject, std::size_t bytes) const {
  for (const Cell& cell : cells) {
    if (cell.subject == subject && cell.bytes == bytes && cell.median_us > 0) return &cell;
  }
  return nullptr;
}

SectionResult run_section(const Section& section, const RunOptions& options) {
  std::vector<RunningWorld> worlds;
  std::vector<Runner> runners;
  SectionResult result{section.name, section.ranks, section.tcp, section.cold, section.shaped, options.code};
  for (const Subject& subject : section.subjects) {
    if (!fs::exists(options.programs / ("compare_" + subject.program))) {
      result.silent.push_back(subject.label + ": not built here");
      continue;
    }
    auto found = std::find_if(worlds.begin(), worlds.end(),
                              [&](const RunningWorld& world) { return world.program == subject.program; });
    if (found == worlds.end()) {
      auto folder = std::make_unique<ScratchFolder>();
      auto world = std::make_unique<PeerWorld>(plan_for(subject.program, section, options.programs), folder->path());
      worlds.push_back({subject.program, std::move(folder), std::move(world)});
      found = worlds.end() - 1;
    }
    runners.push_back({&subject, found->world.get()});
  }
  if (const auto copies = worlds.front().world->ask("copy 9", std::chrono::seconds(60))) {
    const double traffic = 2.0 * static_cast<double>(last_level_cache_bytes()) * section.ranks;
    result.limit_gb_per_s = traffic / bench::median(copies->seconds) / 1e9;
  }
  for (const std::size_t bytes : section.sizes) {
    for (Cell& cell : measure_size(section, bytes, options, runners)) result.cells.push_back(std::move(cell));
  }
  for (const Runner& runner : runners) {
    if (!runner.world->failure().empty())
      result.silent.push_back(runner.subject->label + ": " + runner.world->failure());
  }
  return result;
}

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Cell, subject, bytes, median_us, p99_us, wrong, iterations)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(SectionResult, section, ranks, tcp, cold, shaped, code, limit_gb_per_s, silent,
                                   cells)

void save(const SectionResult& result, const fs::path& folder) {
  fs::create_directories(folder);
  write_file_atomically(folder / (result.section + ".json"), nlohmann::json(result).dump(1) + "\n");
}

std::vector<SectionResult> load(const std::vector<Section>& sections, const fs::path& folder) {
  std::vector<SectionResult> results;
  for (const Section& section : sections) {
    const fs::path file = folder / (section.name + ".json");
    if (fs::exists(file)) results.push_back(nlohmann::json::parse(read_file(file)).get<SectionResult>());
  }
  return results;
}

}  // namespace lockstep::compare
