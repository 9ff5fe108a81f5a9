#include "bench/result.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace lockstep::bench {

namespace {

/// The row of the same size that has the least; none if there is no other.
template <class Measure>
const Row* best_beside(const std::vector<Row>& rows, const Row& picked, const Measure& measure) {
  const Row* best = nullptr;
  for (const Row& row : rows) {
    if (row.picked || row.bytes != picked.bytes) continue;
    if (best == nullptr || measure(row) < measure(*best)) best = &row;
  }
  return best;
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

}  // namespace

std::vector<Regret> regrets(const std::vector<Row>& rows) {
  std::vector<Regret> result;
  for (const Row& picked : rows) {
    if (!picked.picked) continue;
    const Row* const best = best_beside(rows, picked, [](const Row& row) { return row.median_us; });
    if (best == nullptr) continue;
    double share = 0;
    for (const std::size_t half : {0U, 1U}) {
      const Row* const chosen = best_beside(rows, picked, [&](const Row& row) { return row.half_median_us[half]; });
      share += (picked.half_median_us[1 - half] / chosen->half_median_us[1 - half] - 1) / 2;
    }
    result.push_back({picked.bytes, picked.algorithm, best->algorithm, share});
  }
  return result;
}

std::string table_heading(const Result& result) {
  const Options& options = result.options;
  return fmt::format(
      "# {} on {} rank{}{}, {} memory, {}, {}; {} copies move {:.1f} GB/s of memory traffic\n"
      "#{:>12} {:>12} {:>9} {:>8} {:>22} {:>12} {:>12} {:>9} {:>9} {:>7}\n"
      "#{:>12} {:>12} {:>9} {:>8} {:>22} {:>12} {:>12} {:>9} {:>9} {:>7}\n",
      to_string(options.collective), result.world_size, result.world_size == 1 ? "" : "s", placement(result.hosts),
      options.plain ? "plain" : "registered", result.transport, options.cold ? "cold" : "warm", result.world_size,
      result.limit_gb_per_s, "bytes", "count", "type", "op", "algorithm", "median", "p99", "algbw", "busbw", "wrong",
      "", "", "", "", "", "us", "us", "GB/s", "GB/s", "");
}

std::string table_row(const Row& row, const Options& options) {
  return fmt::format(" {:>12} {:>12} {:>9} {:>8} {:>22} {:>12.2f} {:>12.2f} {:>9.2f} {:>9.2f} {:>7}\n", row.bytes,
                     row.count, to_string(options.dtype), to_string(options.op),
                     row.algorithm + (row.picked && options.algorithm == "all" ? " (auto)" : ""), row.median_us,
                     row.p99_us, row.algbw_gb_per_s, row.busbw_gb_per_s, row.wrong);
}

std::string table_end(const Result& result) {
  const std::vector<Regret> all = regrets(result.rows);
  std::string text;
  double sum = 0;
  double worst = 0;
  for (const Regret& regret : all) {
    text += fmt::format("# {:>11} bytes: auto took {}, {:+.1f} % of {}, the best\n", regret.bytes, regret.picked,
                        regret.share * 100, regret.best);
    sum += regret.share;
    worst = std::max(worst, regret.share);
  }
  if (!all.empty()) {
    text += fmt::format("# regret of auto: {:.1f} % on average, {:.1f} % at worst\n",
                        sum * 100 / static_cast<double>(all.size()), worst * 100);
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
                    {"collective", to_string(options.collective)},
                    {"dtype", to_string(options.dtype)},
                    {"op", to_string(options.op)},
                    {"buffers", options.plain ? "plain" : "registered"},
                    {"transport", result.transport},
                    {"cold", options.cold},
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
  const std::vector<Regret> all = regrets(result.rows);
  if (!all.empty()) json["regret"] = ordered_json::array();
  for (const Regret& regret : all) {
    json["regret"].push_back(
        {{"bytes", regret.bytes}, {"auto", regret.picked}, {"best", regret.best}, {"share", regret.share}});
  }
  return json.dump(1) + "\n";
}

}  // namespace lockstep::bench
