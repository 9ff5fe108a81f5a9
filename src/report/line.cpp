#include "report/line.h"

#include "base/units.h"
#include "report/console.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace lockstep {

namespace {

std::string format_loss(double loss) {
  return std::abs(loss) < 1000 ? fmt::format("{:.4f}", loss) : fmt::format("{:.4g}", loss);
}

std::string format_norm(double norm) {
  return std::abs(norm) < 1000 ? fmt::format("{:.2f}", norm) : fmt::format("{:.3g}", norm);
}

std::string format_ms(double milliseconds) { return fmt::format("{:.{}f}", milliseconds, milliseconds < 100 ? 1 : 0); }

// A rate for people: NaN and what no counter holds are said as they are.
std::string format_rate(double rate) {
  if (!(rate >= 0 && rate < 1e18)) return fmt::format("{:.3g}", rate);
  return format_count(static_cast<std::uint64_t>(std::llround(rate)));
}

std::string format_brief_rate(double rate) {
  if (rate >= 1e6) return fmt::format("{:.1f}M", rate / 1e6);
  if (rate >= 1e3) return fmt::format("{:.1f}k", rate / 1e3);
  return fmt::format("{:.0f}", rate);
}

}  // namespace

std::vector<Field> iteration_fields(const IterationRecord& record) {
  const std::string iteration = fmt::format("iteration {}", record.iteration);
  const std::string loss = "loss " + format_loss(record.loss);
  const std::string norm = "norm " + format_norm(record.gradient_norm);
  const std::string rate = fmt::format("lr {:.1e}", record.learning_rate);
  std::vector<Field> fields{{iteration, iteration, 9}, {loss, loss, 8, std::isfinite(record.loss) ? "1" : "1;31"}};
  if (record.validation_loss) {
    const std::string value = format_loss(*record.validation_loss);
    fields.push_back({"validation loss " + value, "val " + value, 7, "1;32"});
  }
  fields.push_back({norm, norm, 3});
  fields.push_back({rate, rate, 2});
  fields.push_back(
      {format_rate(record.tokens_per_second) + " tokens/s", format_brief_rate(record.tokens_per_second) + " tok/s", 4});
  // Compute and exposed time shorten together or not at all: one without the other would mislead.
  fields.push_back(
      {fmt::format("compute {} ms  exposed {} ms", format_ms(record.compute_ms), format_ms(record.exposed_ms)),
       fmt::format("{}+{} ms", format_ms(record.compute_ms), format_ms(record.exposed_ms)), 5});
  const std::string bytes = format_bytes(record.bytes);
  fields.push_back({record.algorithm.empty() ? bytes : bytes + " " + record.algorithm, bytes, 1, "2"});
  return fields;
}

std::string colour(std::string_view text, std::string_view sgr) { return fmt::format("\x1b[{}m{}\x1b[0m", sgr, text); }

std::string join(const std::vector<Field>& fields, std::size_t gap, bool coloured) {
  std::string line;
  for (const Field& field : fields) {
    if (!line.empty()) line.append(gap, ' ');
    line += coloured && !field.colour.empty() ? colour(field.text, field.colour) : field.text;
  }
  return line;
}

std::string fit(std::vector<Field> fields, std::size_t columns, bool coloured) {
  if (join(fields).size() <= columns) return join(fields, 2, coloured);
  for (Field& field : fields) field.text = field.brief;
  while (join(fields, 1).size() > columns && fields.size() > 1) {
    fields.erase(std::min_element(fields.begin(), fields.end(),
                                  [](const Field& a, const Field& b) { return a.importance < b.importance; }));
  }
  return join(fields, 1, coloured);
}

std::string format_iteration(const IterationRecord& record) { return join(iteration_fields(record)); }

std::string format_bucket(const BucketRecord& record, std::size_t columns) {
  std::string line = fmt::format("  bucket {}  {}  {}  {:.2f} ms {}  ", record.index, format_bytes(record.bytes),
                                 record.algorithm, record.milliseconds, record.hidden ? "hidden" : "exposed");
  for (std::size_t i = 0; i < record.parameters.size(); ++i) {
    const std::size_t left = record.parameters.size() - i;
    const std::string name = (i ? ", " : "") + record.parameters[i];
    const std::string rest = left > 1 ? fmt::format(" and {} more", left - 1) : "";
    if (columns != std::string::npos && line.size() + name.size() + rest.size() > columns) {
      return line + (i ? fmt::format(" and {} more", left) : fmt::format("{} parameters", left));
    }
    line += name;
  }
  return line;
}

std::string to_json(const IterationRecord& record) {
  // nlohmann writes NaN and infinities as null, the only value that JSON has for them.
  nlohmann::ordered_json json{{"iteration", record.iteration},
                              {"loss", record.loss},
                              {"gradient_norm", record.gradient_norm},
                              {"learning_rate", record.learning_rate},
                              {"tokens_per_second", record.tokens_per_second},
                              {"compute_ms", record.compute_ms},
                              {"exposed_ms", record.exposed_ms},
                              {"bytes", record.bytes},
                              {"algorithm", record.algorithm}};
  if (record.validation_loss) json["validation_loss"] = *record.validation_loss;
  for (const BucketRecord& bucket : record.buckets) {
    json["buckets"].push_back({{"index", bucket.index},
                               {"parameters", bucket.parameters},
                               {"bytes", bucket.bytes},
                               {"algorithm", bucket.algorithm},
                               {"milliseconds", bucket.milliseconds},
                               {"hidden", bucket.hidden}});
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace lockstep
