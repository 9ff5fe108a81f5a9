#include "study/buckets.h"

#include "base/units.h"
#include "study/chart.h"
#include "study/overlap.h"
#include "study/prediction_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

namespace lockstep::study {

namespace {

const BucketPoint& fastest(const BucketSweep& sweep) {
  return *std::min_element(sweep.points.begin(), sweep.points.end(),
                           [](const BucketPoint& a, const BucketPoint& b) { return a.iteration_ms < b.iteration_ms; });
}

const BucketPoint& slowest(const BucketSweep& sweep) {
  return *std::max_element(sweep.points.begin(), sweep.points.end(),
                           [](const BucketPoint& a, const BucketPoint& b) { return a.iteration_ms < b.iteration_ms; });
}

double bytes_of(const BucketPoint& point) {
  double bytes = 0;
  for (const BucketRecord& bucket : point.buckets) bytes += static_cast<double>(bucket.bytes);
  return bytes;
}

std::string ms(double value) { return format_seconds(value / 1000); }

std::string size_of_bucket(const BucketPoint& point) { return format_bytes(point.bucket_bytes); }

/// The middle of how far apart the rounds of a point are, as a share of it.
double noise(const BucketSweep& sweep) {
  std::vector<double> shares;
  for (const BucketPoint& point : sweep.points) shares.push_back(point.most_ms / point.iteration_ms - 1);
  std::nth_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(shares.size() / 2), shares.end());
  return shares[shares.size() / 2];
}

std::string words_on_time(const BucketSweep& sweep) {
  const BucketPoint &best = fastest(sweep), &worst = slowest(sweep);
  const double apart = worst.iteration_ms / best.iteration_ms - 1;
  std::string words = fmt::format(
      "The fastest buckets are those of {} ({} of them, {} an iteration), the slowest those of {} ({}, {}): {:.0f} % "
      "longer.",
      size_of_bucket(best), best.buckets.size(), ms(best.iteration_ms), size_of_bucket(worst), worst.buckets.size(),
      ms(worst.iteration_ms), 100 * apart);
  const double between_rounds = noise(sweep);
  if (apart <= between_rounds) {
    words += fmt::format(
        " Rounds of one and the same size are {:.0f} % apart in the middle, so that no size is better "
        "than another by more than the noise.",
        100 * between_rounds);
  }
  return words;
}

/// How much of T = k 2(p-1) alpha + 2(p-1)/p n beta each part is, at both ends of the sweep.
std::string words_on_formula(const BucketSweep& sweep) {
  const BucketPoint &small = sweep.points.front(), &large = sweep.points.back();
  const double p = sweep.ranks, messages = 2 * (p - 1);
  const auto latency = [&](const BucketPoint& point) {
    return 1000 * static_cast<double>(point.buckets.size()) * messages * sweep.link.alpha_s;
  };
  const double transfer = 1000 * messages / p * bytes_of(large) * sweep.link.beta_s;
  return fmt::format(
      "By T = 2(p-1) alpha + 2(p-1)/p n beta a bucket, with p = {}, alpha = {} and beta = {:.3g} ns a byte: all "
      "buckets together pay 2(p-1)/p n beta = {} whatever their size, and 2(p-1) alpha each: {} for the {} of {}, {} "
      "for the "
      "{} of {}. Measured, where no rank came late: {} and {}.",
      sweep.ranks, format_seconds(sweep.link.alpha_s), 1e9 * sweep.link.beta_s, ms(transfer), ms(latency(small)),
      counted(small.buckets.size(), "bucket"), size_of_bucket(small), ms(latency(large)),
      counted(large.buckets.size(), "bucket"), size_of_bucket(large), ms(small.communication_ms),
      ms(large.communication_ms));
}

std::string words_on_hiding(const BucketSweep& sweep) {
  const BucketPoint& best = fastest(sweep);
  const double hidden_ms = best.communication_ms - best.exposed_ms;
  std::string words = fmt::format(
      " With those of {} backward, of {}, hides {} of {} of communication: behind it the iteration takes {}.",
      size_of_bucket(best), ms(sweep.backward_ms), hidden_ms > 0 ? ms(hidden_ms) : "nothing", ms(best.communication_ms),
      ms(best.behind_ms));
  if (sweep.shares_memory) {
    words +=
        " Ranks that share memory move the bytes with their training threads, so that what is hidden is not free: "
        "the model has both curves alike.";
  }
  return words;
}

LabCurve curve_of(const BucketSweep& sweep, double BucketPoint::*measured, double BucketPrediction::*predicted,
                  const std::string& name) {
  LabCurve curve{name, {}, {}};
  for (const BucketPoint& point : sweep.points) {
    const auto x = static_cast<double>(point.bucket_bytes);
    curve.measured.emplace_back(x, point.*measured);
    curve.predicted.emplace_back(x, predict(sweep, point.buckets).*predicted);
  }
  return curve;
}

/// Bucket sizes, asked for, of points with a bucket of a size that the calibration measured.
std::set<double> known_points(const BucketSweep& sweep) {
  std::set<double> known;
  for (const BucketPoint& point : sweep.points) {
    if (has_known_size(point.buckets, sweep.calibrated)) known.insert(static_cast<double>(point.bucket_bytes));
  }
  return known;
}

LabTable table_of(const BucketSweep& sweep) {
  LabTable table{fmt::format("Each size, over {}, in milliseconds", sweep.medium),
                 {"buckets of", "number", "iteration", "predicted", "behind backward", "predicted", "communication",
                  "predicted", "exposed"},
                 {}};
  for (const BucketPoint& point : sweep.points) {
    const BucketPrediction predicted = predict(sweep, point.buckets);
    const auto number = [](double value) { return fmt::format("{:.2f}", value); };
    table.rows.push_back({size_of_bucket(point), std::to_string(point.buckets.size()), number(point.iteration_ms),
                          number(predicted.iteration_ms), number(point.behind_ms), number(predicted.behind_ms),
                          number(point.communication_ms), number(predicted.communication_ms),
                          number(point.exposed_ms)});
  }
  return table;
}

void add_sweep(const BucketSweep& sweep, LabPage& page, PredictionErrors& errors) {
  const LabCurve iteration =
      curve_of(sweep, &BucketPoint::iteration_ms, &BucketPrediction::iteration_ms, "beside backward");
  const LabCurve behind = curve_of(sweep, &BucketPoint::behind_ms, &BucketPrediction::behind_ms, "behind backward");
  const LabCurve communication =
      curve_of(sweep, &BucketPoint::communication_ms, &BucketPrediction::communication_ms, "communication");
  const std::set<double> known = known_points(sweep);
  errors.add("iteration, " + sweep.medium, iteration, known);
  errors.add("iteration behind backward, " + sweep.medium, behind, known);
  errors.add("communication, " + sweep.medium, communication, known);
  const std::pair<LabAxis, LabAxis> axes{{"bytes of a bucket", true, true}, {"milliseconds"}};
  page.charts.push_back(chart_of(fmt::format("Iteration time, {}", sweep.medium), axes, {iteration, behind},
                                 words_on_time(sweep) + words_on_hiding(sweep)));
  page.charts.push_back(chart_of(fmt::format("Communication alone, behind backward, {}", sweep.medium),
                                 {axes.first, {"milliseconds", true}}, {communication}, words_on_formula(sweep)));
  page.tables.push_back(table_of(sweep));
}

}  // namespace

BucketPrediction predict(const BucketSweep& sweep, const std::vector<BucketRecord>& buckets) {
  const PredictedCommunication predicted =
      predict(sweep.model, buckets,
              {.ranks = sweep.ranks, .milliseconds = sweep.backward_ms, .shares_memory = sweep.shares_memory});
  return {predicted.all_ms, sweep.compute_ms + predicted.exposed_ms, sweep.compute_ms + predicted.all_ms};
}

LabPage page_of(const BucketStudy& study) {
  LabPage page{.title = "How large should a bucket be?", .command = study.command, .paragraphs = {}, .charts = {}};
  PredictionErrors errors;
  std::vector<std::string> abouts;
  for (const BucketSweep& sweep : study.sweeps) {
    if (sweep.points.empty()) continue;
    add_sweep(sweep, page, errors);
    abouts.push_back(sweep.about);
  }
  page.paragraphs.push_back(fmt::format(
      "{}. Gradients leave in buckets, while backward still makes others. A small bucket leaves early and pays for "
      "each of its messages; a large one pays once and leaves late. {}",
      study.training, study.how));
  std::string predicted = "Points were measured, lines predicted, by calibrations that saw none of these runs. ";
  for (const std::string& about : abouts) predicted += about + " ";
  predicted +=
      "The time to compute is that of a run of its own, with buckets of 1 GiB (the first of 1 MiB) behind backward, "
      "less its communication.";
  predicted += kOnKnownSizes;
  page.paragraphs.push_back(predicted);
  errors.conclude(page, study.skipped);
  return page;
}

}  // namespace lockstep::study
