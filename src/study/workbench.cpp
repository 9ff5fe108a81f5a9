#include "study/workbench.h"

#include "base/atomic_file.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <array>
#include <optional>

namespace lockstep::study {

namespace {

namespace fs = std::filesystem;

/// Pages are touched, plans made and buckets laid out anew in the first ones.
constexpr int kWarmup = 4;

/// One thread a rank, so that a rank computes alike however many there are.
const std::vector<std::string> kOneThread = {"OMP_NUM_THREADS=1", "OPENBLAS_NUM_THREADS=1", "MKL_NUM_THREADS=1"};

void append(std::vector<std::string>& to, const std::vector<std::string>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

ChildPlan Workbench::job(int ranks, const std::vector<std::string>& program, const ShapedNetwork* network) const {
  ChildPlan plan{{programs_.lockstep, "run", "-n", std::to_string(ranks)}, kOneThread};
  append(plan.command, network != nullptr ? network->as_rank(program) : program);
  if (network == nullptr) plan.environment.emplace_back("LOCKSTEP_TRANSPORT=auto");
  return plan;
}

ChildPlan Workbench::training(const TrainingPlan& plan, const std::vector<std::string>& more,
                              const ShapedNetwork* network) const {
  std::vector<std::string> program{programs_.training, plan.training};
  if (network == nullptr) program = {programs_.lockstep, "train", plan.training, "-n", std::to_string(plan.ranks)};
  append(program, plan.flags);
  append(program, more);
  ChildPlan child = job(plan.ranks, program, network);
  if (network == nullptr) child.command = std::move(program);
  return child;
}

void Workbench::check(const TrainingPlan& plan) {
  children_.output_of(training(plan, {"--out", (folder() / "run").string(), "--check"}, nullptr));
}

TrainingRun Workbench::train(const TrainingPlan& plan, const ShapedNetwork* network) {
  const fs::path out = folder() / "run", lines = folder() / "run.jsonl";
  fs::remove_all(out);
  children_.output_of(training(plan,
                               {"--iterations", std::to_string(kWarmup + plan.iterations), "--out", out.string(),
                                "--jsonl", lines.string(), "--every", "1000000", "--log-sync"},
                               network));
  const fs::path summary = out / "summary.json", trace = out / "trace.json";
  TrainingRun run = parse_summary(read_file(summary), summary.string());
  run.iterations = parse_iterations(read_file(lines), kWarmup + 1, lines.string());
  run.phase_ms = parse_phases(read_file(trace), kWarmup + 1, trace.string());
  return run;
}

std::vector<CollectiveTime> Workbench::measure(const CollectivePlan& plan, const ShapedNetwork* network) {
  std::vector<CollectiveTime> times;
  for (const std::uint64_t bytes : plan.sizes) {
    const fs::path file = folder() / "bench.json";
    fs::remove(file);
    const std::string size = std::to_string(bytes);
    children_.output_of(
        job(plan.ranks,
            {programs_.lockstep, "bench", "all_reduce", "--algorithm", plan.algorithm, "--min-bytes", size,
             "--max-bytes", size, "--min-time", plan.min_time, "--format", "json", "-o", file.string()},
            network));
    const std::vector<CollectiveTime> rows = parse_bench(read_file(file), file.string());
    times.insert(times.end(), rows.begin(), rows.end());
  }
  return times;
}

Workbench::HostCalibration Workbench::host_calibration(int ranks) {
  if (const auto stored = stored_calibration(this_machine())) {
    return {*stored, "what `lockstep calibrate` stored for this machine"};
  }
  say("no calibration is stored (`lockstep calibrate` makes one): measuring one for this study");
  const fs::path cache = folder() / "cache";
  ChildPlan plan{{programs_.lockstep, "calibrate", "--fast", "-n", std::to_string(std::max(ranks, 2))},
                 {"XDG_CACHE_HOME=" + cache.string()}};
  children_.output_of(plan);
  const fs::path file = cache / "lockstep" / "calibration.json";
  return {parse_calibration(read_file(file), file.string()),
          "a brief calibration made for this page (`lockstep calibrate` stores a better one)"};
}

fs::path Workbench::sample_text() const {
  constexpr int kWords = 6000;
  const std::array<const char*, 12> words = {"ranks", "reduce", "the",  "gradient", "in",    "a",
                                             "ring",  "while",  "each", "bucket",   "waits", "behind"};
  std::string text;
  std::uint32_t state = 1;
  for (int i = 0; i < kWords; ++i) {
    state = state * 1664525 + 1013904223;
    text += words[(state >> 16) % words.size()];
    text += i % 12 == 11 ? "\n" : " ";
  }
  fs::path path = folder() / "text.txt";
  write_file_atomically(path, text);
  return path;
}

}  // namespace lockstep::study
