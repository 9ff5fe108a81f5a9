#include "report/html.h"

#include "base/atomic_file.h"
#include "base/units.h"
#include "report/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

// More points than this are more than a screen has columns: they are averaged in groups.
constexpr std::size_t kMostPoints = 2000;

// Six digits are more than a curve shows, and a third of the file.
Json brief(double value) { return std::isfinite(value) ? Json::parse(fmt::format("{:.6g}", value)) : Json(nullptr); }

using Iterations = std::vector<IterationRecord>;

Json column(const Iterations& iterations, std::size_t each, double IterationRecord::*field) {
  Json values = Json::array();
  for (std::size_t i = 0; i < iterations.size(); i += each) {
    const std::size_t end = std::min(i + each, iterations.size());
    double sum = 0;
    for (std::size_t j = i; j < end; ++j) sum += iterations[j].*field;
    values.push_back(brief(sum / static_cast<double>(end - i)));
  }
  return values;
}

Json columns(const Iterations& iterations, std::size_t each) {
  Json numbers = Json::array();
  // A group goes by its last iteration, so that the right end of a curve is that of the run.
  for (std::size_t i = 0; i < iterations.size(); i += each) {
    numbers.push_back(iterations[std::min(i + each, iterations.size()) - 1].iteration);
  }
  return {{"iteration", numbers},
          {"loss", column(iterations, each, &IterationRecord::loss)},
          {"gradient_norm", column(iterations, each, &IterationRecord::gradient_norm)},
          {"learning_rate", column(iterations, each, &IterationRecord::learning_rate)},
          {"tokens_per_second", column(iterations, each, &IterationRecord::tokens_per_second)},
          {"compute_ms", column(iterations, each, &IterationRecord::compute_ms)},
          {"exposed_ms", column(iterations, each, &IterationRecord::exposed_ms)}};
}

Json validation(const Iterations& iterations) {
  Json json{{"iteration", Json::array()}, {"loss", Json::array()}};
  for (const IterationRecord& record : iterations) {
    if (!record.validation_loss) continue;
    json["iteration"].push_back(record.iteration);
    json["loss"].push_back(brief(*record.validation_loss));
  }
  return json;
}

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

  void speed(const Iterations& iterations) {
    const double rate = median(iterations, &IterationRecord::tokens_per_second);
    if (rate > 0) add("Throughput", count(std::llround(rate)), "tokens/s, median");
    double compute = 0, exposed = 0;
    for (const IterationRecord& record : iterations) {
      compute += record.compute_ms;
      exposed += record.exposed_ms;
    }
    if (!(compute + exposed > 0)) return;
    add("Exposed time", fmt::format("{:.1f} %", 100 * exposed / (compute + exposed)),
        fmt::format("median {:.2f} ms", median(iterations, &IterationRecord::exposed_ms)));
  }

  Json take() { return std::move(json_); }

 private:
  Json json_ = Json::array();
};

Json tiles(const ReportPage& page) {
  Tiles tiles;
  if (!page.iterations.empty()) {
    tiles.losses(page.iterations);
    tiles.speed(page.iterations);
  }
  tiles.add("Ranks", std::to_string(page.run.world_size), page.run.world_size == 1 ? "one process" : "data parallel");
  if (page.run.parameters > 0) tiles.add("Parameters", format_many(page.run.parameters), "trained values");
  if (page.total_seconds > 0) {
    const std::size_t done = page.iterations.size();
    tiles.add("Time", format_wait(std::chrono::seconds(std::llround(page.total_seconds))),
              fmt::format("{} iteration{}", format_count(done), done == 1 ? "" : "s"));
  }
  return tiles.take();
}

// What each bucket did over all iterations that recorded it.
Json buckets(const Iterations& iterations) {
  struct Sum {
    const BucketRecord* latest = nullptr;
    double milliseconds = 0, hidden = 0, times = 0;
  };
  std::map<int, Sum> sums;
  for (const IterationRecord& record : iterations) {
    for (const BucketRecord& bucket : record.buckets) {
      Sum& sum = sums[bucket.index];
      sum.latest = &bucket;
      sum.milliseconds += bucket.milliseconds;
      sum.hidden += bucket.hidden;
      sum.times += 1;
    }
  }
  Json json = Json::array();
  for (const auto& [index, sum] : sums) {
    json.push_back({{"index", index},
                    {"size", format_bytes(sum.latest->bytes)},
                    {"algorithm", sum.latest->algorithm},
                    {"time", fmt::format("{:.2f} ms", sum.milliseconds / sum.times)},
                    {"hidden", fmt::format("{:.0f} %", 100 * sum.hidden / sum.times)},
                    {"parameters", sum.latest->parameters}});
  }
  return json;
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string escape_html(std::string text) {
  return replace_all(replace_all(replace_all(std::move(text), "&", "&amp;"), "<", "&lt;"), ">", "&gt;");
}

std::string data_of(const ReportPage& page) {
  const std::size_t each = std::max<std::size_t>((page.iterations.size() + kMostPoints - 1) / kMostPoints, 1);
  Json settings = Json::array();
  for (const auto& [name, value] : page.run.settings) settings.push_back(Json::array({name, value}));
  const Json json{{"title", page.run.title},
                  {"command", page.run.command},
                  {"tiles", tiles(page)},
                  {"each", each},
                  {"columns", columns(page.iterations, each)},
                  {"validation", validation(page.iterations)},
                  {"buckets", buckets(page.iterations)},
                  {"settings", settings},
                  {"sample", page.sample},
                  {"trace", page.trace_path}};
  // With no '<' in it, nothing in the data can end the script element that holds it.
  return replace_all(json.dump(-1, ' ', false, Json::error_handler_t::replace), "<", "\\u003c");
}

void fill(std::string& page, std::string_view place, const std::string& text) {
  page.replace(page.find(place), place.size(), text);
}

}  // namespace

void write_report(const ReportPage& page, const std::filesystem::path& path) {
  std::string text(kReportPage);
  // The data first: the title's place stands before it, so nothing that is filled in is taken for a place.
  fill(text, "{{data}}", data_of(page));
  fill(text, "{{title}}", escape_html(page.run.title));
  write_file_atomically(path, text);
}

}  // namespace lockstep
