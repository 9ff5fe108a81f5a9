#include "study/sharding.h"

#include "base/units.h"
#include "study/chart.h"
#include "study/overlap.h"
#include "study/prediction_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>

namespace lockstep::study {

namespace {

double predict_communication_ms(const ShardingStudy& study, const StagePoint& point) {
  return predict(study.model, point.buckets, {.ranks = study.ranks}).all_ms;
}

/// Of what the formulas speak of.
double sum_of(const std::vector<MemoryRecord>& memory, std::uint64_t MemoryRecord::*bytes) {
  double sum = 0;
  for (const MemoryRecord& row : memory) sum += row.predicted_bytes > 0 ? static_cast<double>(row.*bytes) : 0;
  return sum;
}

double sent_bytes(const StagePoint& point) {
  double sum = 0;
  for (const BucketRecord& bucket : point.buckets) sum += static_cast<double>(bucket.wire_bytes);
  return sum;
}

/// Of float32 gradients.
double gradient_bytes(const ShardingStudy& study) { return 4.0 * static_cast<double>(study.parameters); }

std::string bytes(double value) { return format_bytes(static_cast<std::uint64_t>(value)); }

/// A curve over the stages.
template <class Measured, class Predicted>
LabCurve curve_of(const ShardingStudy& study, const std::string& name, const Measured& measured,
                  const Predicted& predicted) {
  LabCurve curve{name, {}, {}};
  for (const StagePoint& point : study.stages) {
    curve.measured.emplace_back(point.stage, measured(point));
    curve.predicted.emplace_back(point.stage, predicted(point));
  }
  return curve;
}

/// Of the parameters at stage 3, those that stand in no block, so that every rank keeps all of them.
double bytes_outside_of_blocks(const ShardingStudy& study) {
  const StagePoint& last = study.stages.back();
  const double p = study.ranks;
  for (const MemoryRecord& row : last.memory) {
    if (row.kind != "parameters" || last.stage != 3 || study.ranks < 2) continue;
    // measured = outside + (all - outside) / p
    return std::max(0.0, (p * static_cast<double>(row.measured_bytes) - gradient_bytes(study)) / (p - 1));
  }
  return 0;
}

/// How many values an optimizer keeps for each parameter, by the formulas of stage 0.
int values_kept(const StagePoint& first) {
  double parameters = 0, state = 0;
  for (const MemoryRecord& row : first.memory) {
    if (row.kind == "parameters") parameters = static_cast<double>(row.predicted_bytes);
    if (row.kind == "optimizer state") state = static_cast<double>(row.predicted_bytes);
  }
  return parameters > 0 ? static_cast<int>(std::lround(state / parameters)) : 0;
}

std::string words_on_formulas(const ShardingStudy& study) {
  const int kept = values_kept(study.stages.front()), state = 4 * kept;
  const double p = study.ranks;
  return fmt::format(
      "The optimizer keeps {} a parameter (Adam 2, SGD with momentum 1): in float32 the formulas are {}, 8 + {}/p, 4 + "
      "{}/p and {}/p: here, with p = {}, {:.2f}, {:.2f}, {:.2f} and {:.2f}.",
      counted(static_cast<std::uint64_t>(kept), "value"), 8 + state, state, 4 + state, 8 + state, study.ranks,
      8.0 + state, 8 + state / p, 4 + (4 + state) / p, (8 + state) / p);
}

/// On what they leave out.
std::string words_on_buffers(const ShardingStudy& study) {
  std::string each;
  for (const StagePoint& point : study.stages) {
    for (const MemoryRecord& row : point.memory) {
      if (row.kind != "communication buffers") continue;
      each += fmt::format("{}{} at stage {}", each.empty() ? "" : ", ", format_bytes(row.measured_bytes), point.stage);
    }
  }
  if (each.empty()) return {};
  return fmt::format(
      " On top come buffers in which blocks are gathered and gradients travel: {}. All communication is behind "
      "backward here, so that all gradients wait in them; beside backward two at a time would do.",
      each);
}

std::string words_on_memory(const ShardingStudy& study, const LabCurve& memory) {
  const double first = memory.measured.front().second, last = memory.measured.back().second;
  const auto parameters = static_cast<double>(study.parameters);
  std::string each;
  for (const auto& [stage, value] : memory.measured) {
    each += fmt::format("{}{:.2f} at stage {:.0f}", each.empty() ? "" : ", ", value / parameters, stage);
  }
  const double outside = bytes_outside_of_blocks(study);
  const std::string whole =
      outside < 0.01 * gradient_bytes(study)
          ? ""
          : fmt::format(" {} of the {} of parameters stand in no block, as embeddings do: those stay whole at stage 3.",
                        bytes(outside), bytes(gradient_bytes(study)));
  return fmt::format("Bytes a parameter: {}. {} The last stage holds {:.0f} % of the first.", each,
                     words_on_formulas(study), 100 * last / first) +
         whole + words_on_buffers(study);
}

/// "2 all_reduce and 2 all_gather at stage 1".
std::string operations_of(const StagePoint& point) {
  std::map<std::string, int> counts;
  for (const BucketRecord& bucket : point.buckets) ++counts[bucket.operation];
  std::string words;
  for (const auto& [operation, number] : counts) {
    words += fmt::format("{}{} {}", words.empty() ? "" : " and ", number, operation);
  }
  return fmt::format("{} at stage {}", words, point.stage);
}

std::string words_on_bytes(const ShardingStudy& study, const LabCurve& sent) {
  const double first = sent.measured.front().second, last = sent.measured.back().second;
  std::string operations;
  for (const StagePoint& point : study.stages) {
    operations += (operations.empty() ? "" : ", ") + operations_of(point);
  }
  const double all = gradient_bytes(study), in_blocks = all - bytes_outside_of_blocks(study);
  return fmt::format(
      "A rank sends {} an iteration at stage {:.0f} and {} at stage {:.0f}, {:.2f} times as much. What ran: {}. By the "
      "formulas an all-reduce of n = {} takes 2(p-1)/p n = {}, a reduce-scatter and an all-gather the same, and stage "
      "3 gathers "
      "what is in its blocks once more: of the {} there, (p-1)/p, {} on top.",
      bytes(first), sent.measured.front().first, bytes(last), sent.measured.back().first, last / first, operations,
      bytes(all), bytes(predict_sent_bytes(0, study.ranks, all)), bytes(in_blocks),
      bytes(in_blocks * (study.ranks - 1) / study.ranks));
}

std::string words_on_time(const ShardingStudy& study) {
  const auto faster = [](const StagePoint& a, const StagePoint& b) { return a.iteration_ms < b.iteration_ms; };
  const auto [best, worst] = std::minmax_element(study.stages.begin(), study.stages.end(), faster);
  return fmt::format(
      "All communication is behind backward here. Stage {} is the fastest with {} an iteration, stage {} the slowest "
      "with {}. From stage 1 on each rank updates "
      "1/p of the parameters: of the update's {} that saves up to {}; what it costs is in the communication: {} at "
      "stage {}, "
      "{} at stage {}.",
      best->stage, format_seconds(best->iteration_ms / 1000), worst->stage, format_seconds(worst->iteration_ms / 1000),
      format_seconds(study.update_ms / 1000), format_seconds(study.update_ms / 1000 * (1 - 1.0 / study.ranks)),
      format_seconds(study.stages.front().communication_ms / 1000), study.stages.front().stage,
      format_seconds(study.stages.back().communication_ms / 1000), study.stages.back().stage);
}

void add_memory(const ShardingStudy& study, LabPage& page, PredictionErrors& formulas) {
  for (const StagePoint& point : study.stages) {
    page.bars.push_back({fmt::format("Memory at stage {}", point.stage), point.memory});
    for (const MemoryRecord& row : point.memory) {
      if (row.predicted_bytes == 0) continue;
      formulas.add("memory, " + row.kind, static_cast<double>(row.predicted_bytes),
                   static_cast<double>(row.measured_bytes));
    }
  }
  const LabCurve memory = curve_of(
      study, "memory", [](const StagePoint& point) { return sum_of(point.memory, &MemoryRecord::measured_bytes); },
      [](const StagePoint& point) { return sum_of(point.memory, &MemoryRecord::predicted_bytes); });
  page.charts.push_back(chart_of("Memory of a rank between updates", {{"stage"}, {"bytes", false, true}}, {memory},
                                 words_on_memory(study, memory)));
}

LabTable table_of(const ShardingStudy& study) {
  LabTable table{
      "Each stage",
      {"stage", "operations", "iteration ms", "predicted ms", "communication ms", "predicted ms", "sent", "predicted"},
      {}};
  for (const StagePoint& point : study.stages) {
    const auto number = [](double value) { return fmt::format("{:.2f}", value); };
    table.rows.push_back({std::to_string(point.stage), std::to_string(point.buckets.size()), number(point.iteration_ms),
                          number(predict_iteration_ms(study, point)), number(point.communication_ms),
                          number(predict_communication_ms(study, point)), bytes(sent_bytes(point)),
                          bytes(predict_sent_bytes(point.stage, study.ranks, gradient_bytes(study)))});
  }
  return table;
}

}  // namespace

double predict_sent_bytes(int stage, int ranks, double bytes) {
  const double times = stage == 3 ? 3 : 2;
  return times * (ranks - 1) / ranks * bytes;
}

double predict_iteration_ms(const ShardingStudy& study, const StagePoint& point) {
  const double spared = point.stage > 0 ? study.update_ms * (1 - 1.0 / study.ranks) : 0;
  return study.compute_ms - spared + predict_communication_ms(study, point);
}

LabPage page_of(const ShardingStudy& study) {
  LabPage page{.title = "What does sharding save, and what does it cost?",
               .command = study.command,
               .paragraphs = {},
               .charts = {}};
  PredictionErrors formulas, times;
  add_memory(study, page, formulas);
  const LabCurve sent = curve_of(study, "sent by a rank", sent_bytes, [&](const StagePoint& point) {
    return predict_sent_bytes(point.stage, study.ranks, gradient_bytes(study));
  });
  const LabCurve iteration = curve_of(
      study, "iteration", [](const StagePoint& point) { return point.iteration_ms; },
      [&](const StagePoint& point) { return predict_iteration_ms(study, point); });
  const LabCurve communication = curve_of(
      study, "communication", [](const StagePoint& point) { return point.communication_ms; },
      [&](const StagePoint& point) { return predict_communication_ms(study, point); });
  formulas.add("bytes sent", sent);
  std::set<double> known;
  for (const StagePoint& point : study.stages) {
    if (has_known_size(point.buckets, study.calibrated)) known.insert(point.stage);
  }
  times.add("iteration", iteration, known);
  times.add("communication", communication, known);
  page.charts.push_back(chart_of("Bytes that a rank sends for an iteration", {{"stage"}, {"bytes", false, true}},
                                 {sent}, words_on_bytes(study, sent)));
  page.charts.push_back(
      chart_of("Time", {{"stage"}, {"milliseconds"}}, {iteration, communication}, words_on_time(study)));
  page.paragraphs = {
      fmt::format("{}, on {} ranks, at ZeRO's stages: 0 shards nothing, 1 the optimizer's state, 2 the gradients too, "
                  "3 the parameters of blocks too. {}",
                  study.training, study.ranks, study.how),
      fmt::format("Points and full bars were measured. Memory and bytes are predicted by the formulas, which know "
                  "nothing of this machine; times by calibrations that saw none of these runs. {} The time to compute, "
                  "and the update's part of it, are those of a "
                  "run of its own at stage 0, with buckets of 1 GiB (the first of 1 MiB) behind backward, less its "
                  "communication.",
                  study.about) +
          kOnKnownSizes,
      formulas.sentence("memory and bytes") + " " + times.sentence()};
  page.tables = {table_of(study), formulas.table("memory and bytes"), times.table()};
  return page;
}

}  // namespace lockstep::study
