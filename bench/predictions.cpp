// predictions FILE [PERCENT]: how well this build predicts what `lockstep calibrate` measured and held back, after
// fitting its prices anew to the rest; lists what is further off than so much (25). FILE is what it stored, on
// whichever machine (~/.cache/lockstep/calibration.json). So a change to what predictions are made of is tried on
// readings of before.
#include "base/atomic_file.h"
#include "base/units.h"
#include "bench/refit.h"
#include "bench/usage.h"

#include <fmt/format.h>
#include <lockstep/error.h>
#include <CLI/CLI.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace {

using namespace lockstep;

void list(const char* what, const std::vector<bench::Prediction>& predictions, double percent) {
  double sum = 0;
  int far_off = 0;
  for (const bench::Prediction& one : predictions) {
    sum += std::abs(one.error());
    if (std::abs(one.error()) <= percent / 100) continue;
    ++far_off;
    fmt::print("  {} by {}, {} ranks, {}: measured {}, predicted {} ({:+.0f} %)\n", to_string(one.measured.collective),
               one.measured.algorithm, one.measured.ranks, format_bytes(static_cast<std::uint64_t>(one.measured.bytes)),
               format_seconds(one.measured.seconds), format_seconds(one.seconds), 100 * one.error());
  }
  const auto count = static_cast<double>(predictions.size());
  fmt::print("  {}: {:.1f} % off in the mean, {} of {} by more than {} %\n", what, count > 0 ? 100 * sum / count : 0,
             far_off, predictions.size(), percent);
}

void tell(const Calibration& calibration, Medium medium, double percent) {
  const bench::Refit refit = bench::refit(calibration, medium);
  fmt::print("{}: {}\n", to_string(medium), to_text(refit.held_back));
  list("sizes", refit.sizes, percent);
  list("numbers of ranks", refit.ranks, percent);
}

}  // namespace

int main(int argc, char** argv) try {
  CLI::App app("How well this build predicts what `lockstep calibrate` measured and held back");
  std::string file;
  double percent = 25;
  app.add_option("file", file, "What it stored, on whichever machine")->required()->check(CLI::ExistingFile);
  app.add_option("percent", percent, "What is further off is listed")
      ->capture_default_str()
      ->check(CLI::NonNegativeNumber);
  if (const auto end = read_arguments(app, "predictions", argc, argv)) return *end;
  const Calibration calibration = parse_calibration(read_file(file), file);
  tell(calibration, Medium::kSharedMemory, percent);
  if (!calibration.tcp.samples.empty()) tell(calibration, Medium::kTcp, percent);
  return 0;
} catch (const lockstep::Error& error) {
  std::fprintf(stderr, "predictions: %s\n", error.what());
  return 1;
}
