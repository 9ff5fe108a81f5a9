#include "bench/result.h"

#include "base/units.h"
#include "bench/statistics.h"
#include "schedule/promise.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::bench {

namespace {

/// The row of the same size that has the least of those that are not marked; none if there is no other. What "auto" is
/// compared with it could have taken, which a file is not.
template <class Measure>
const Row* best_beside(const std::vector<Row>& rows, const Row& one, bool Row::*mark, const Measure& measure) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.*mark || row.from_file || row.bytes != one.bytes) continue;
    if (best == nullptr || measure(row) < measure(*best)) best = &row;
  }
  return best;
}

/// The values with even places, from `first` = 0, or with odd ones, from 1.
std::vector<double> every_second(const std::vector<double>& values, std::size_t first) {
  std::vector<double> result;
  for (std::size_t i = first; i < values.size(); i += 2) result.push_back(values[i]);
  return result;
}

double median_ratio(std::vector<double> above, const std::vector<double>& below) {
  for (std::size_t i = 0; i < above.size(); ++i) above[i] /= below[i];
  return median(std::move(above));
}

/// " on 2 hosts (3, 1)", by the ranks of each; nothing for one.
std::string placement(const std::vector<int>& hosts) {
  std::vector<int> ranks;
  for (const int host : hosts) {
    ranks.resize(std::max(ranks.size(), static_cast<std::size_t>(host) + 1));
    ++ranks[static_cast<std::size_t>(host)];
  }
  return ranks.size() < 2 ? "" : fmt::format(" on {} hosts ({})", ranks.size(), fmt::join(ranks, ", "));
}

/// "3 ranks", or "each of 2 groups, 6 ranks in all".
std::string ranks_text(const Result& result) {
  std::string ranks = counted(static_cast<std::uint64_t>(result.world_size), "rank");
  const Options& options = result.options;
  if (options.groups == 1) return ranks;
  return fmt::format("each of {} groups{}, {} in all", options.groups, options.interleaved ? ", interleaved" : "",
                     ranks);
}

/// "none" where nothing is summed, as nccl-tests has it.
std::string_view operator_of(const Options& options) {
  return sums_values(options.collective) ? to_string(options.op) : "none";
}

bool run_the_same(const Row& a, const Row& b) { return a.as_auto && b.as_auto && a.bytes == b.bytes; }

/// By how much "auto" took longer than the row of the same schedule, under its own name.
std::optional<double> taken_again(const std::vector<Row>& rows, const Row& one) {
  for (const Row& row : rows) {
    if (!row.picked && run_the_same(row, one)) return median_ratio(one.round_median_us, row.round_median_us) - 1;
  }
  return std::nullopt;
}

std::vector<Regret> regrets_of(bool Row::*mark, const std::vector<Row>& rows) {
  std::vector<Regret> result;
  for (const Row& one : rows) {
    if (!(one.*mark)) continue;
    const Row* const best = best_beside(rows, one, mark, [](const Row& row) { return row.median_us; });
    if (best == nullptr) continue;
    double share = 0;
    for (const std::size_t half : {0U, 1U}) {
      const auto here = [&](const Row& row) { return every_second(row.round_median_us, half); };
      const auto elsewhere = [&](const Row& row) { return every_second(row.round_median_us, 1 - half); };
      const Row* const chosen = best_beside(rows, one, mark, [&](const Row& row) { return median(here(row)); });
      if (run_the_same(*chosen, one)) continue;
      share += (median_ratio(elsewhere(one), elsewhere(*chosen)) - 1) / 2;
    }
    result.push_back({one.bytes, one.algorithm, best->algorithm, share, taken_again(rows, one)});
  }
  return result;
}

/// A line for each, said of `who`, and one for all.
std::string regrets_text(const std::vector<Regret>& all, std::string_view who) {
  std::string text;
  double sum = 0;
  double worst = all.empty() ? 0 : all.front().share;
  for (const Regret& regret : all) {
    text += fmt::format("# {:>11} bytes: {} took {}, {:+.1f} % of {}, the best\n", regret.bytes, who, regret.picked,
                        regret.share * 100, regret.best);
    sum += regret.share;
    worst = std::max(worst, regret.share);
  }
  if (all.empty()) return text;
  return text + fmt::format("# regret of {}: {:.1f} % on average, {:.1f} % at worst\n", who,
                            sum * 100 / static_cast<double>(all.size()), worst * 100);
}

/// What two rows of the same schedule differ by; nothing where there are none.
std::string noise_text(const std::vector<Regret>& all) {
  double sum = 0;
  double most = 0;
  int count = 0;
  for (const Regret& regret : all) {
    if (!regret.again) continue;
    sum += *regret.again;
    most = std::max(most, std::abs(*regret.again));
    ++count;
  }
  if (count == 0) return "";
  return fmt::format(
      "# noise: beside the rows of the same schedules auto's took {:+.1f} % on average, {:.1f} % at most\n",
      sum * 100 / count, most * 100);
}

nlohmann::ordered_json json_of(const std::vector<Regret>& all, const char* who) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const Regret& regret : all) {
    json.push_back({{"bytes", regret.bytes}, {who, regret.picked}, {"best", regret.best}, {"share", regret.share}});
    if (regret.again) json.back()["again"] = *regret.again;
  }
  return json;
}

/// What bytes lie in, where there are any, and what moves them.
std::string memory_and_transport(const Result& result) {
  const Options& options = result.options;
  if (options.collective == Collective::kBarrier) return result.transport;
  return fmt::format("{} memory, {}, {}", options.plain ? "plain" : "registered", result.transport,
                     options.cold ? "cold" : "warm");
}

}  // namespace

std::vector<Regret> regrets(const std::vector<Row>& rows) { return regrets_of(&Row::picked, rows); }
std::vector<Regret> file_regrets(const std::vector<Row>& rows) { return regrets_of(&Row::from_file, rows); }

std::string table_heading(const Result& result) {
  const Options& options = result.options;
  return fmt::format(
      "# {} on {}{}, {}; {} {:.1f} GB/s of memory traffic\n"
      "#{:>12} {:>12} {:>9} {:>8} {:>22} {:>12} {:>12} {:>9} {:>9} {:>7}\n"
      "#{:>12} {:>12} {:>9} {:>8} {:>22} {:>12} {:>12} {:>9} {:>9} {:>7}\n",
      to_string(options.collective), ranks_text(result), placement(result.hosts), memory_and_transport(result),
      result.world_size == 1 ? "a copy moves" : fmt::format("{} copies move", result.world_size), result.limit_gb_per_s,
      "bytes", "count", "type", "op", "algorithm", "median", "p99", "algbw", "busbw", "wrong", "", "", "", "", "", "us",
      "us", "GB/s", "GB/s", "");
}

std::string table_row(const Row& row, const Options& options) {
  return fmt::format(" {:>12} {:>12} {:>9} {:>8} {:>22} {:>12.2f} {:>12.2f} {:>9.2f} {:>9.2f} {:>7}\n", row.bytes,
                     row.count, to_string(options.dtype), operator_of(options),
                     row.algorithm + (row.picked && options.algorithm == "all" ? " (auto)" : ""), row.median_us,
                     row.p99_us, row.algbw_gb_per_s, row.busbw_gb_per_s, row.wrong);
}

std::string table_end(const Result& result) {
  const std::vector<Regret> of_auto = regrets(result.rows);
  std::string text = regrets_text(of_auto, "auto") + noise_text(of_auto);
  text += regrets_text(file_regrets(result.rows), "the file");
  if (!result.not_run.empty()) {
    text += fmt::format("# not run: {} (they do not fit these ranks or this kind of reduction)\n",
                        fmt::join(result.not_run, ", "));
  }
  text += fmt::format("# over the whole run {} moved {:.1f} GB/s of memory traffic\n",
                      result.world_size == 1 ? "a copy" : "copies", result.limit_gb_per_s);
  if (result.wrong() > 0) text += fmt::format("# {} elements were WRONG\n", result.wrong());
  return text;
}

std::string to_table(const Result& result) {
  std::string text = table_heading(result);
  for (const Row& row : result.rows) text += table_row(row, result.options);
  return text + table_end(result);
}

std::string to_json(const Result& result) {
  using nlohmann::ordered_json;
  const Options& options = result.options;
  ordered_json json{{"world_size", result.world_size},
                    {"hosts", result.hosts},
                    {"groups", options.groups},
                    {"interleaved", options.interleaved},
                    {"collective", to_string(options.collective)},
                    {"dtype", to_string(options.dtype)},
                    {"op", operator_of(options)},
                    {"root", has_root(options.collective) ? ordered_json(options.root) : ordered_json(nullptr)},
                    {"buffers", options.plain ? "plain" : "registered"},
                    {"transport", result.transport},
                    {"cold", options.cold},
                    {"cache_bytes", options.cache_bytes ? ordered_json(*options.cache_bytes) : ordered_json(nullptr)},
                    {"limit_gb_per_s", result.limit_gb_per_s},
                    {"rows", ordered_json::array()}};
  for (const Row& row : result.rows) {
    json["rows"].push_back({{"bytes", row.bytes},
                            {"count", row.count},
                            {"algorithm", row.algorithm},
                            {"auto", row.picked},
                            {"median_us", row.median_us},
                            {"p99_us", row.p99_us},
                            {"algbw_gb_per_s", row.algbw_gb_per_s},
                            {"busbw_gb_per_s", row.busbw_gb_per_s},
                            {"wrong", row.wrong},
                            {"iterations", row.iterations},
                            {"batch", row.batch}});
  }
  if (!result.not_run.empty()) json["not_run"] = result.not_run;
  if (const auto all = regrets(result.rows); !all.empty()) json["regret"] = json_of(all, "auto");
  if (const auto all = file_regrets(result.rows); !all.empty()) json["regret_of_file"] = json_of(all, "file");
  return json.dump(1) + "\n";
}

}  // namespace lockstep::bench
