#include "study/records.h"

#include "bench/statistics.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace lockstep::study {

namespace {

using Json = nlohmann::json;

/// Does `read` with the text's JSON; what is missing or of another kind is one sentence.
template <class Read>
auto reading(std::string_view text, const std::string& source, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {
    throw Error(ErrorCode::kIo,
                fmt::format("{} is not what this version of lockstep writes: {}.", source, error.what()));
  }
}

BucketRecord bucket_of(const Json& json) {
  BucketRecord bucket;
  json.at("index").get_to(bucket.index);
  json.at("bytes").get_to(bucket.bytes);
  json.at("algorithm").get_to(bucket.algorithm);
  json.at("milliseconds").get_to(bucket.milliseconds);
  json.at("hidden").get_to(bucket.hidden);
  bucket.operation = json.value("operation", "");
  bucket.block = json.value("block", "");
  bucket.phase = json.value("phase", "");
  bucket.steps = json.value("steps", 0);
  bucket.wire_bytes = json.value("wire_bytes", std::uint64_t{0});
  if (json.contains("predicted_ms")) bucket.predicted_ms = json.at("predicted_ms").get<double>();
  return bucket;
}

IterationRecord iteration_of(const Json& json) {
  IterationRecord record;
  json.at("iteration").get_to(record.iteration);
  json.at("compute_ms").get_to(record.compute_ms);
  json.at("exposed_ms").get_to(record.exposed_ms);
  json.at("bytes").get_to(record.bytes);
  json.at("algorithm").get_to(record.algorithm);
  record.hidden_ms = json.value("hidden_ms", 0.0);
  record.data_wait_ms = json.value("data_wait_ms", 0.0);
  for (const Json& bucket : json.value("buckets", Json::array())) record.buckets.push_back(bucket_of(bucket));
  return record;
}

template <class Value>
double median_of(const std::vector<IterationRecord>& records, const Value& value) {
  std::vector<double> values;
  values.reserve(records.size());
  for (const IterationRecord& record : records) values.push_back(value(record));
  return bench::median(std::move(values));
}

}  // namespace

double TrainingRun::iteration_ms() const { return median_of(iterations, total_ms); }
double TrainingRun::exposed_ms() const {
  return median_of(iterations, [](const IterationRecord& record) { return record.exposed_ms; });
}
double TrainingRun::least_exposed_ms() const {
  const auto less = [](const IterationRecord& a, const IterationRecord& b) { return a.exposed_ms < b.exposed_ms; };
  return std::min_element(iterations.begin(), iterations.end(), less)->exposed_ms;
}
double TrainingRun::phase(const std::string& name) const {
  const auto found = phase_ms.find(name);
  return found == phase_ms.end() ? 0 : found->second;
}

std::vector<IterationRecord> parse_iterations(std::string_view lines, std::int64_t first, const std::string& source) {
  std::vector<IterationRecord> records;
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', begin), lines.size());
    const IterationRecord record = reading(lines.substr(begin, end - begin), source, iteration_of);
    if (record.iteration >= first) records.push_back(record);
    begin = end + 1;
  }
  if (records.empty()) {
    throw Error(ErrorCode::kIo,
                fmt::format("{} has no iteration from the {}. on; ask for more with --iterations.", source, first));
  }
  return records;
}

std::map<std::string, double> parse_phases(std::string_view trace, std::int64_t first, const std::string& source) {
  return reading(trace, source, [&](const Json& json) {
    std::map<std::string, std::vector<double>> durations;
    for (const Json& event : json.at("traceEvents")) {
      if (event.value("ph", "") != "X" || event.at("pid") != 0) continue;
      if (std::stoll(event.value("args", Json::object()).value("iteration", "0")) < first) continue;
      durations[event.at("name").get<std::string>()].push_back(event.at("dur").get<double>() / 1000);
    }
    std::map<std::string, double> medians;
    for (auto& [name, values] : durations) medians[name] = bench::median(std::move(values));
    return medians;
  });
}

TrainingRun parse_summary(std::string_view summary, const std::string& source) {
  return reading(summary, source, [](const Json& json) {
    TrainingRun run;
    json.at("title").get_to(run.title);
    json.at("ranks").get_to(run.ranks);
    json.at("parameters").get_to(run.parameters);
    for (const Json& row : json.at("memory")) {
      run.memory.push_back({.kind = row.at("kind").get<std::string>(),
                            .predicted_bytes = row.at("predicted_bytes").get<std::uint64_t>(),
                            .measured_bytes = row.at("measured_bytes").get<std::uint64_t>()});
    }
    return run;
  });
}

std::vector<CollectiveTime> parse_bench(std::string_view json, const std::string& source) {
  return reading(json, source, [&](const Json& bench) {
    std::vector<CollectiveTime> times;
    for (const Json& row : bench.at("rows")) {
      if (row.at("wrong") != 0) {
        throw Error(ErrorCode::kIo,
                    fmt::format("{}: {} elements of {}'s result were wrong.", source,
                                row.at("wrong").get<std::uint64_t>(), row.at("algorithm").get<std::string>()));
      }
      times.push_back({.algorithm = row.at("algorithm").get<std::string>(),
                       .bytes = row.at("bytes").get<double>(),
                       .seconds = row.at("median_us").get<double>() * 1e-6});
    }
    return times;
  });
}

}  // namespace lockstep::study
