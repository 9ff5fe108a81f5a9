#include "report/html_tiles.h"

#include "base/units.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;
using Iterations = std::vector<IterationRecord>;

std::string count(std::int64_t value) {
  return format_count(static_cast<std::uint64_t>(std::max<std::int64_t>(value, 0)));
}

// "804,096" as it is, "124,439,808" as "124.4 million".
std::string format_many(std::uint64_t value) {
  if (value >= 1'000'000'000) return fmt::format("{:.2f} billion", static_cast<double>(value) / 1e9);
  return value >= 10'000'000 ? fmt::format("{:.1f} million", static_cast<double>(value) / 1e6) : format_count(value);
}

double median(const Iterations& iterations, double IterationRecord::*field) {
  std::vector<double> values;
  for (const IterationRecord& record : iterations) {
    if (std::isfinite(record.*field)) values.push_back(record.*field);
  }
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class Tiles {
 public:
  void add(const char* label, const std::string& value, const std::string& note) {
    json_.push_back({{"label", label}, {"value", value}, {"note", note}});
  }

  void losses(const Iterations& iterations) {
    const IterationRecord& last = iterations.back();
    add("Training loss", fmt::format("{:.4f}", last.loss),
        fmt::format("{:.4f} at iteration {}", iterations.front().loss, count(iterations.front().iteration)));
    const IterationRecord* latest = nullptr;
    const IterationRecord* best = nullptr;
    for (const IterationRecord& record : iterations) {
      if (!record.validation_loss) continue;
      latest = &record;
      if (!best || *record.validation_loss < *best->validation_loss) best = &record;
    }
    if (!latest) return;
    add("Validation loss", fmt::format("{:.4f}", *latest->validation_loss),
        best == latest ? "its best"
                       : fmt::format("best {:.4f} at iteration {}", *best->validation_loss, count(best->iteration)));
  }

  void accuracy(const Iterations& iterations) {
    const IterationRecord* latest = nullptr;
    const IterationRecord* best = nullptr;
    for (const IterationRecord& record : iterations) {
      if (!record.validation_accuracy) continue;
      latest = &record;
      if (!best || *record.validation_accuracy > *best->validation_accuracy) best = &record;
    }
    if (!latest) return;
    const auto percent = [](const IterationRecord& record) {
      return fmt::format("{:.2f} %", 100 * *record.validation_accuracy);
    };
    add("Validation accuracy", percent(*latest),
        best == latest ? "its best" : fmt::format("best {} at iteration {}", percent(*best), count(best->iteration)));
  }

  void speed(const Iterations& iterations, const std::string& item) {
    const double rate = median(iterations, &IterationRecord::items_per_second);
    if (rate > 0) add("Throughput", count(std::llround(rate)), item + "/s, median");
    double compute = 0, exposed = 0, waited = 0;
    for (const IterationRecord& record : iterations) {
      compute += record.compute_ms;
      exposed += record.exposed_ms;
      waited += record.data_wait_ms;
    }
    const double total = compute + exposed + waited;
    if (!(total > 0)) return;
    add("Exposed time", fmt::format("{:.1f} %", 100 * exposed / total),
        fmt::format("median {:.2f} ms", median(iterations, &IterationRecord::exposed_ms)));
  }

  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::array();
};

}  // namespace

Json tiles(const ReportPage& page) {
  Tiles tiles;
  if (!page.iterations.empty()) {
    tiles.losses(page.iterations);
    tiles.accuracy(page.iterations);
    tiles.speed(page.iterations, page.run.item);
  }
  tiles.add("Ranks", std::to_string(page.run.world_size), page.run.world_size == 1 ? "one process" : "data parallel");
  if (page.run.parameters > 0) tiles.add("Parameters", format_many(page.run.parameters), "trained values");
  if (page.total_seconds > 0) {
    // Of a long run not every iteration has a record.
    const auto& all = page.iterations;
    const auto done = all.empty() ? 0U : static_cast<std::uint64_t>(all.back().iteration - all.front().iteration + 1);
    tiles.add("Time", format_wait(std::chrono::seconds(std::llround(page.total_seconds))),
              fmt::format("{} iteration{}", format_count(done), done == 1 ? "" : "s"));
  }
  return tiles.take();
}

}  // namespace lockstep
