#include "report/html.h"

#include "base/atomic_file.h"
#include "base/units.h"
#include "report/html_tiles.h"
#include "report/page/fill_page.h"
#include "report/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace lockstep {

namespace {

using Json = nlohmann::ordered_json;

// More points than this are more than a screen has columns: they are averaged in groups.
constexpr std::size_t kMostPoints = 2000;

// Six digits are more than a curve shows, and a third of the file.
Json brief(double value) { return std::isfinite(value) ? Json::parse(fmt::format("{:.6g}", value)) : Json(nullptr); }

using Iterations = std::vector<IterationRecord>;
using Value = std::function<std::optional<double>(const IterationRecord&)>;

// The mean of each group of `each` iterations, over those that have a value.
Json column(const Iterations& iterations, std::size_t each, const Value& value) {
  Json values = Json::array();
  for (std::size_t i = 0; i < iterations.size(); i += each) {
    const std::size_t end = std::min(i + each, iterations.size());
    double sum = 0, count = 0;
    for (std::size_t j = i; j < end; ++j) {
      const auto one = value(iterations[j]);
      sum += one.value_or(0);
      count += one.has_value();
    }
    values.push_back(count > 0 ? brief(sum / count) : Json(nullptr));
  }
  return values;
}

std::optional<double> percent(std::optional<double> share) {
  return share ? std::optional<double>(100 * *share) : std::nullopt;
}

Json columns(const Iterations& iterations, std::size_t each) {
  Json numbers = Json::array();
  // A group goes by its last iteration, so that the right end of a curve is that of the run.
  for (std::size_t i = 0; i < iterations.size(); i += each) {
    numbers.push_back(iterations[std::min(i + each, iterations.size()) - 1].iteration);
  }
  Json json{{"iteration", numbers}};
  const auto always = [&](const char* name, double IterationRecord::*field) {
    json[name] = column(iterations, each, [field](const IterationRecord& record) { return record.*field; });
  };
  // What nobody measured is 0 throughout, and has no curve.
  const auto measured = [&](const char* name, double IterationRecord::*field) {
    const bool any = std::any_of(iterations.begin(), iterations.end(),
                                 [&](const IterationRecord& record) { return record.*field != 0; });
    if (any) always(name, field);
  };
  always("loss", &IterationRecord::loss);
  measured("gradient_norm", &IterationRecord::gradient_norm);
  measured("learning_rate", &IterationRecord::learning_rate);
  measured("items_per_second", &IterationRecord::items_per_second);
  always("compute_ms", &IterationRecord::compute_ms);
  always("exposed_ms", &IterationRecord::exposed_ms);
  measured("hidden_ms", &IterationRecord::hidden_ms);
  measured("data_wait_ms", &IterationRecord::data_wait_ms);
  const auto accuracy = [](const IterationRecord& record) { return percent(record.training_accuracy); };
  if (std::any_of(iterations.begin(), iterations.end(), accuracy))
    json["accuracy"] = column(iterations, each, accuracy);
  return json;
}

Json validation(const Iterations& iterations) {
  Json json{{"iteration", Json::array()}, {"loss", Json::array()}, {"accuracy", Json::array()}};
  const auto optional = [](const std::optional<double>& value) { return value ? brief(*value) : Json(nullptr); };
  for (const IterationRecord& record : iterations) {
    if (!record.validation_loss && !record.validation_accuracy) continue;
    json["iteration"].push_back(record.iteration);
    json["loss"].push_back(optional(record.validation_loss));
    json["accuracy"].push_back(optional(percent(record.validation_accuracy)));
  }
  return json;
}

// What each bucket did over all iterations that recorded it.
struct BucketSum {
  const BucketRecord* latest = nullptr;
  double milliseconds = 0, hidden = 0, times = 0;
  double measured = 0, predicted = 0, predictions = 0;  // of the times that were predicted

  void add(const BucketRecord& bucket) {
    latest = &bucket;
    milliseconds += bucket.milliseconds;
    hidden += bucket.hidden;
    times += 1;
    if (!bucket.predicted_ms) return;
    measured += bucket.milliseconds;
    predicted += *bucket.predicted_ms;
    predictions += 1;
  }
};

Json json_of(const BucketSum& sum) {
  const BucketRecord& bucket = *sum.latest;
  Json json{{"index", bucket.index},
            {"size", format_bytes(bucket.bytes)},
            {"algorithm", bucket.algorithm},
            {"time", fmt::format("{:.2f} ms", sum.milliseconds / sum.times)},
            {"hidden", fmt::format("{:.0f} %", 100 * sum.hidden / sum.times)},
            {"parameters", bucket.parameters}};
  if (!bucket.operation.empty()) json["operation"] = bucket.operation;
  if (!bucket.block.empty()) json["block"] = bucket.block;
  if (!bucket.phase.empty()) json["phase"] = bucket.phase;
  if (bucket.steps > 0) json["steps"] = bucket.steps;
  if (bucket.wire_bytes > 0) json["sent"] = format_bytes(bucket.wire_bytes);
  if (sum.predictions > 0) json["predicted"] = fmt::format("{:.2f} ms", sum.predicted / sum.predictions);
  if (sum.predictions > 0 && sum.measured > 0) {
    json["error"] = fmt::format("{:+.1f} %", 100 * (sum.predicted - sum.measured) / sum.measured);
  }
  return json;
}

Json buckets(const Iterations& iterations) {
  // Of full sharding a bucket is gathered in forward and in backward, and scattered: each is a line of its own.
  std::map<std::tuple<int, std::string, std::string, std::string>, BucketSum> sums;
  for (const IterationRecord& record : iterations) {
    for (const BucketRecord& bucket : record.buckets) {
      sums[{bucket.index, bucket.block, bucket.operation, bucket.phase}].add(bucket);
    }
  }
  Json json = Json::array();
  for (const auto& [key, sum] : sums) json.push_back(json_of(sum));
  return json;
}

Json memory(const std::vector<MemoryRecord>& kinds) {
  Json json = Json::array();
  for (const MemoryRecord& kind : kinds) {
    json.push_back({{"kind", kind.kind}, {"predicted", kind.predicted_bytes}, {"measured", kind.measured_bytes}});
  }
  return json;
}

// Times from the first span; a span is an array, since there are many.
Json timeline(const std::vector<TimelineSpan>& spans) {
  Json json = Json::array();
  std::int64_t zero_us = std::numeric_limits<std::int64_t>::max();
  for (const TimelineSpan& span : spans) zero_us = std::min(zero_us, span.begin_us);
  for (const TimelineSpan& span : spans) {
    json.push_back(Json::array({span.rank, span.name, span.category, span.begin_us - zero_us, span.end_us - zero_us}));
  }
  return json;
}

Json data_of(const ReportPage& page) {
  const std::size_t each = std::max<std::size_t>((page.iterations.size() + kMostPoints - 1) / kMostPoints, 1);
  Json settings = Json::array();
  for (const auto& [name, value] : page.run.settings) settings.push_back(Json::array({name, value}));
  return {{"title", page.run.title},
          {"command", page.run.command},
          {"tiles", tiles(page)},
          {"each", each},
          {"item", page.run.item},
          {"columns", columns(page.iterations, each)},
          {"validation", validation(page.iterations)},
          {"timeline", timeline(page.timeline)},
          {"buckets", buckets(page.iterations)},
          {"memory", memory(page.memory)},
          {"settings", settings},
          {"sample", page.sample},
          {"trace", page.trace_path}};
}

}  // namespace

void write_report(const ReportPage& page, const std::filesystem::path& path) {
  write_file_atomically(path, fill_page(kReportPage, page.run.title, data_of(page)));
}

}  // namespace lockstep
