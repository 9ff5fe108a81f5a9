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

std::string brief_item(const std::string& item) {
  if (item == "tokens") return "tok";
  if (item == "sentences") return "sent";
  if (item == "images") return "img";
  return item;
}

Field accuracy_field(const char* name, const char* brief, double accuracy, int importance, std::string_view colour) {
  const std::string percent = fmt::format("{:.1f} %", 100 * accuracy);
  return {name + percent, brief + percent, importance, colour};
}

// The parts of an iteration's time shorten together or not at all: one without the others would mislead.
Field time_field(const IterationRecord& record) {
  const std::string compute = format_ms(record.compute_ms), exposed = format_ms(record.exposed_ms);
  Field field{fmt::format("compute {} ms  exposed {} ms", compute, exposed), compute + "+" + exposed, 5};
  if (record.data_wait_ms > 0) {
    field.text += fmt::format("  data {} ms", format_ms(record.data_wait_ms));
    field.brief += "+" + format_ms(record.data_wait_ms);
  }
  field.brief += " ms";
  return field;
}

// What ran, without what it took: "bucket 2  all_gather of blocks.3 in forward  1 MiB  ring, 6 steps, 1.50 MiB sent".
// Only gathers are in another phase than backward.
std::string describe_bucket(const BucketRecord& record) {
  std::string line = fmt::format("bucket {}  ", record.index);
  if (!record.operation.empty()) line += record.operation;
  if (!record.block.empty()) line += (record.operation.empty() ? "of " : " of ") + record.block;
  if (record.operation == "all_gather" && !record.phase.empty()) line += " in " + record.phase;
  if (!record.operation.empty() || !record.block.empty()) line += "  ";
  line += fmt::format("{}  {}", format_bytes(record.bytes), record.algorithm);
  if (record.steps > 0) line += fmt::format(", {} step{}", record.steps, record.steps == 1 ? "" : "s");
  if (record.wire_bytes > 0) line += fmt::format(", {} sent", format_bytes(record.wire_bytes));
  return line;
}

std::string describe_time(const BucketRecord& record) {
  std::string text = fmt::format("{:.2f} ms {}", record.milliseconds, record.hidden ? "hidden" : "exposed");
  if (!record.predicted_ms) return text;
  text += fmt::format(", predicted {:.2f} ms", *record.predicted_ms);
  if (const auto error = record.prediction_error()) text += fmt::format(" ({:+.1f} %)", 100 * *error);
  return text;
}

using Json = nlohmann::ordered_json;

Json json_of(const BucketRecord& bucket) {
  Json json{{"index", bucket.index},         {"parameters", bucket.parameters},     {"bytes", bucket.bytes},
            {"algorithm", bucket.algorithm}, {"milliseconds", bucket.milliseconds}, {"hidden", bucket.hidden}};
  if (!bucket.operation.empty()) json["operation"] = bucket.operation;
  if (!bucket.block.empty()) json["block"] = bucket.block;
  if (!bucket.phase.empty()) json["phase"] = bucket.phase;
  if (bucket.steps > 0) json["steps"] = bucket.steps;
  if (bucket.wire_bytes > 0) json["wire_bytes"] = bucket.wire_bytes;
  if (bucket.predicted_ms) json["predicted_ms"] = *bucket.predicted_ms;
  return json;
}

}  // namespace

std::vector<Field> iteration_fields(const IterationRecord& record, const std::string& item) {
  const std::string iteration = fmt::format("iteration {}", record.iteration);
  const std::string loss = "loss " + format_loss(record.loss);
  const std::string norm = "norm " + format_norm(record.gradient_norm);
  const std::string rate = fmt::format("lr {:.1e}", record.learning_rate);
  std::vector<Field> fields{{iteration, iteration, 9}, {loss, loss, 8, std::isfinite(record.loss) ? "1" : "1;31"}};
  if (record.training_accuracy) fields.push_back(accuracy_field("accuracy ", "acc ", *record.training_accuracy, 4, ""));
  if (record.validation_loss) {
    const std::string value = format_loss(*record.validation_loss);
    fields.push_back({"validation loss " + value, "val " + value, 7, "1;32"});
  }
  if (record.validation_accuracy) {
    fields.push_back(accuracy_field("validation accuracy ", "val acc ", *record.validation_accuracy, 8, "1;32"));
  }
  fields.push_back({norm, norm, 3});
  fields.push_back({rate, rate, 2});
  fields.push_back({format_rate(record.items_per_second) + " " + item + "/s",
                    format_brief_rate(record.items_per_second) + " " + brief_item(item) + "/s", 4});
  fields.push_back(time_field(record));
  const std::string bytes = format_bytes(record.bytes);
  fields.push_back({record.algorithm.empty() ? bytes : bytes + " " + record.algorithm, bytes, 1, "2"});
  return fields;
}

std::vector<Field> sync_fields(const IterationRecord& record) {
  const auto field = [](const char* name, const char* brief, double milliseconds, int importance) {
    const std::string time = format_ms(milliseconds) + " ms";
    return Field{name + time, brief + time, importance};
  };
  return {field("  communication ", "  comm ", record.communication_ms(), 3),
          field("exposed ", "exp ", record.exposed_ms, 2), field("hidden ", "hid ", record.hidden_ms, 1)};
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

std::string format_iteration(const IterationRecord& record, const std::string& item) {
  return join(iteration_fields(record, item));
}

namespace {

// The names after `line`, which has none yet: as many as `columns` hold, the others counted.
std::string with_parameters(std::string line, const BucketRecord& record, std::size_t columns) {
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

}  // namespace

std::string format_bucket(const BucketRecord& record, std::size_t columns) {
  const std::string what = "  " + describe_bucket(record), time = describe_time(record) + "  ";
  const std::string line = what + "  " + time, count = fmt::format("{} parameters", record.parameters.size());
  if (line.size() + count.size() <= columns) return with_parameters(line, record, columns);
  return what + "\n" + with_parameters("    " + time, record, columns);
}

std::string to_json(const IterationRecord& record, const std::string& item) {
  // nlohmann writes NaN and infinities as null, the only value that JSON has for them.
  Json json{{"iteration", record.iteration},
            {"loss", record.loss},
            {"gradient_norm", record.gradient_norm},
            {"learning_rate", record.learning_rate},
            {item + "_per_second", record.items_per_second},
            {"compute_ms", record.compute_ms},
            {"exposed_ms", record.exposed_ms},
            {"communication_ms", record.communication_ms()},
            {"bytes", record.bytes},
            {"algorithm", record.algorithm}};
  if (record.hidden_ms > 0) json["hidden_ms"] = record.hidden_ms;
  if (record.data_wait_ms > 0) json["data_wait_ms"] = record.data_wait_ms;
  if (record.training_accuracy) json["training_accuracy"] = *record.training_accuracy;
  if (record.validation_loss) json["validation_loss"] = *record.validation_loss;
  if (record.validation_accuracy) json["validation_accuracy"] = *record.validation_accuracy;
  for (const BucketRecord& bucket : record.buckets) json["buckets"].push_back(json_of(bucket));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace lockstep
