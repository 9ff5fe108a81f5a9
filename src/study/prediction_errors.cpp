#include "study/prediction_errors.h"

#include "bench/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace lockstep::study {

namespace {

std::string percent(double share) { return fmt::format("{:.0f} %", 100 * share); }

double largest(const std::vector<double>& values) {
  return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
}

}  // namespace

bool has_known_size(const std::vector<BucketRecord>& buckets, const std::vector<std::uint64_t>& calibrated) {
  return std::any_of(buckets.begin(), buckets.end(), [&](const BucketRecord& bucket) {
    return std::find(calibrated.begin(), calibrated.end(), bucket.bytes) != calibrated.end();
  });
}

void PredictionErrors::add(const std::string& what, double predicted, double measured) {
  if (!(measured > 0) || !std::isfinite(predicted)) return;
  auto group = std::find_if(groups_.begin(), groups_.end(), [&](const auto& one) { return one.first == what; });
  if (group == groups_.end()) group = groups_.insert(groups_.end(), {what, {}});
  group->second.push_back(std::abs(predicted - measured) / measured);
}

void PredictionErrors::add(const std::string& what, const LabCurve& curve, const std::set<double>& known) {
  for (const auto& [x, measured] : curve.measured) {
    for (const auto& [at, predicted] : curve.predicted) {
      if (at != x) continue;
      known.count(x) > 0 ? leave_out() : add(what, predicted, measured);
    }
  }
}

std::vector<double> PredictionErrors::all() const {
  std::vector<double> errors;
  for (const auto& [what, values] : groups_) errors.insert(errors.end(), values.begin(), values.end());
  return errors;
}

double PredictionErrors::median() const { return bench::median(all()); }
double PredictionErrors::worst() const { return largest(all()); }

std::string PredictionErrors::sentence(const std::string& of) const {
  const std::string left_out =
      left_out_ == 0 ? ""
                     : fmt::format(" {} more {} left out: the calibration measured the size of a bucket there.",
                                   left_out_, left_out_ == 1 ? "is" : "are");
  if (empty()) return "Nothing was predicted." + left_out;
  const auto worst_group = std::max_element(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) {
    return largest(a.second) < largest(b.second);
  });
  return fmt::format("The {} predictions of {} have a median error of {}, at worst {} ({}).", all().size(), of,
                     percent(median()), percent(worst()), worst_group->first) +
         left_out;
}

LabTable PredictionErrors::table(const std::string& of) const {
  LabTable table{fmt::format("Errors of the predictions of {}", of), {"what", "points", "median", "worst"}, {}};
  const auto row = [&](const std::string& what, const std::vector<double>& errors) {
    table.rows.push_back(
        {what, std::to_string(errors.size()), percent(bench::median(errors)), percent(largest(errors))});
  };
  for (const auto& [what, errors] : groups_) row(what, errors);
  row("all", all());
  return table;
}

void PredictionErrors::conclude(LabPage& page, const std::string& skipped) const {
  page.paragraphs.push_back(sentence());
  if (!skipped.empty()) page.paragraphs.push_back(skipped);
  page.tables.push_back(table());
}

}  // namespace lockstep::study
