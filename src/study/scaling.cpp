#include "study/scaling.h"

#include "base/units.h"
#include "study/chart.h"
#include "study/overlap.h"
#include "study/prediction_errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace lockstep::study {

namespace {

/// Measured ones for which `fits` holds, by algorithm, with their predictions, over `x`.
template <class Fits, class X>
std::vector<LabCurve> curves_of(const ScalingSweep& sweep, const Fits& fits, const X& x) {
  std::vector<LabCurve> curves;
  for (const MeasuredCollective& one : sweep.collectives) {
    if (!fits(one)) continue;
    auto curve = std::find_if(curves.begin(), curves.end(), [&](const LabCurve& c) { return c.name == one.algorithm; });
    if (curve == curves.end()) curve = curves.insert(curves.end(), {one.algorithm, {}, {}});
    curve->measured.emplace_back(x(one), one.seconds * 1e6);
    curve->predicted.emplace_back(
        x(one), 1e6 * sweep.model({.algorithm = one.algorithm, .ranks = one.ranks, .bytes = one.bytes}));
  }
  return curves;
}

int most_ranks(const ScalingSweep& sweep) {
  int most = 0;
  for (const MeasuredCollective& one : sweep.collectives) most = std::max(most, one.ranks);
  return most;
}

/// The fastest and the slowest curve at `x`, measured.
struct Ends {
  std::string fastest, slowest;
  double least = 0, most = 0;
};
Ends ends_at(const std::vector<LabCurve>& curves, double x) {
  Ends ends;
  for (const LabCurve& curve : curves) {
    for (const auto& [at, value] : curve.measured) {
      if (at != x) continue;
      if (ends.fastest.empty() || value < ends.least) ends.fastest = curve.name, ends.least = value;
      if (ends.slowest.empty() || value > ends.most) ends.slowest = curve.name, ends.most = value;
    }
  }
  return ends;
}

std::string words_on_ends(const Ends& ends) {
  return fmt::format("{} is the fastest with {}, {} the slowest with {}", ends.fastest,
                     format_seconds(ends.least * 1e-6), ends.slowest, format_seconds(ends.most * 1e-6));
}

std::string words_over_bytes(const ScalingSweep& sweep, const std::vector<LabCurve>& curves, int ranks) {
  std::set<double> sizes;
  for (const LabCurve& curve : curves) {
    for (const auto& [x, y] : curve.measured) sizes.insert(x);
  }
  const FlatCost link = sweep.links.at(ranks);
  const double messages = 2.0 * (ranks - 1);
  const double turn = link.beta_s > 0 ? link.alpha_s * ranks / link.beta_s : 0;
  return fmt::format(
      "At {} {}; at {} {}. A ring's T = 2(p-1) alpha + 2(p-1)/p n beta with p = {}, alpha = {} and beta = {:.3g} ns a "
      "byte is flat at {} while n is small, climbs with n beta, and turns where both parts are equal: n = p alpha / "
      "beta = {}.",
      format_bytes(static_cast<std::uint64_t>(*sizes.begin())), words_on_ends(ends_at(curves, *sizes.begin())),
      format_bytes(static_cast<std::uint64_t>(*sizes.rbegin())), words_on_ends(ends_at(curves, *sizes.rbegin())), ranks,
      format_seconds(link.alpha_s), 1e9 * link.beta_s, format_seconds(messages * link.alpha_s),
      format_bytes(static_cast<std::uint64_t>(turn)));
}

std::string words_over_ranks(const ScalingSweep& sweep, const std::vector<LabCurve>& curves, int cores) {
  const int most = most_ranks(sweep);
  std::string words = fmt::format("On {} ranks {}.", most, words_on_ends(ends_at(curves, most)));
  for (const LabCurve& curve : curves) {
    if (curve.name != "ring" || curve.measured.size() < 2) continue;
    const auto &first = curve.measured.front(), &last = curve.measured.back();
    words += fmt::format(
        " A ring's volume a rank, 2(p-1)/p n, grows by a factor of {:.2f} from {:.0f} ranks to {:.0f}, its time by "
        "{:.2f}.",
        (last.first - 1) / last.first * first.first / (first.first - 1), first.first, last.first,
        last.second / first.second);
  }
  if (most > cores) words += fmt::format(" More than {} ranks take turns on the cores.", cores);
  return words;
}

std::string title_of_gradient(const ScalingStudy& study, const ScalingSweep& sweep) {
  const std::string size = format_bytes(static_cast<std::uint64_t>(sweep.gradient_bytes));
  if (sweep.gradient_bytes == study.gradient_bytes) return "All-reduce of the gradient, " + size;
  return fmt::format("All-reduce of {}, since the calibration has seen the gradient's size", size);
}

void add_collectives(const ScalingStudy& study, const ScalingSweep& sweep, LabPage& page, PredictionErrors& errors) {
  if (sweep.collectives.empty()) return;
  const int most = most_ranks(sweep);
  const auto over_bytes = curves_of(
      sweep, [&](const auto& one) { return one.ranks == most; }, [](const auto& one) { return one.bytes; });
  const auto over_ranks = curves_of(
      sweep, [&](const auto& one) { return one.bytes == sweep.gradient_bytes; },
      [](const auto& one) { return static_cast<double>(one.ranks); });
  const auto each = curves_of(
      sweep, [](const auto&) { return true; }, [](const auto& one) { return 1e3 * one.bytes + one.ranks; });
  for (const LabCurve& curve : each) errors.add(fmt::format("{}, {}", curve.name, sweep.medium), curve);
  page.charts.push_back(chart_of(fmt::format("All-reduce on {} ranks, {}", most, sweep.medium),
                                 {{"bytes of the message", true, true}, {"microseconds", true}}, over_bytes,
                                 words_over_bytes(sweep, over_bytes, most)));
  if (over_ranks.empty()) return;
  page.charts.push_back(chart_of(fmt::format("{}, {}", title_of_gradient(study, sweep), sweep.medium),
                                 {{"ranks"}, {"microseconds"}}, over_ranks,
                                 words_over_ranks(sweep, over_ranks, study.cores)));
}

/// T(1) / (p T(p)).
double efficiency(const ScalingStudy& study, int ranks, double iteration_ms) {
  return study.alone.iteration_ms / (ranks * iteration_ms);
}

std::string words_on_training(const ScalingStudy& study, const ScalingSweep& sweep) {
  const MeasuredTraining& last = sweep.trainings.back();
  return fmt::format("Over {} {} ranks take {} an iteration, {} of it exposed communication.", sweep.medium, last.ranks,
                     format_seconds(last.iteration_ms / 1000), format_seconds(last.exposed_ms / 1000)) +
         (last.ranks > study.cores ? fmt::format(" They take turns on {} cores.", study.cores) : "");
}

void add_trainings(const ScalingStudy& study, LabPage& page, PredictionErrors& errors) {
  LabChart times = chart_of("Iteration of the training", {{"ranks"}, {"milliseconds"}}, {}, {});
  LabChart shares = chart_of("Scaling efficiency, T(1) / (p T(p))", {{"ranks"}, {"share of perfect"}}, {}, {});
  LabTable table{"The training on each number of ranks",
                 {"over", "ranks", "iteration ms", "predicted ms", "exposed ms", "efficiency", "predicted"},
                 {}};
  for (const ScalingSweep& sweep : study.sweeps) {
    if (sweep.trainings.empty()) continue;
    LabCurve time{sweep.medium, {{1, study.alone.iteration_ms}}, {{1, study.alone.iteration_ms}}};
    LabCurve share{sweep.medium, {{1, 1}}, {{1, 1}}};
    for (const MeasuredTraining& training : sweep.trainings) {
      const double ranks = training.ranks, predicted = predict_iteration_ms(study, sweep, training);
      const double measured_share = efficiency(study, training.ranks, training.iteration_ms);
      const double predicted_share = efficiency(study, training.ranks, predicted);
      time.measured.emplace_back(ranks, training.iteration_ms);
      time.predicted.emplace_back(ranks, predicted);
      share.measured.emplace_back(ranks, measured_share);
      share.predicted.emplace_back(ranks, predicted_share);
      if (has_known_size(training.buckets, sweep.calibrated)) {
        errors.leave_out();
      } else {
        errors.add("training, " + sweep.medium, predicted, training.iteration_ms);
      }
      table.rows.push_back({sweep.medium, std::to_string(training.ranks), fmt::format("{:.2f}", training.iteration_ms),
                            fmt::format("{:.2f}", predicted), fmt::format("{:.2f}", training.exposed_ms),
                            fmt::format("{:.0f} %", 100 * measured_share),
                            fmt::format("{:.0f} %", 100 * predicted_share)});
    }
    const MeasuredTraining& last = sweep.trainings.back();
    times.words += words_on_training(study, sweep) + " ";
    shares.words += fmt::format("{} ranks over {} reach {:.0f} % of {} times the speed of one. ", last.ranks,
                                sweep.medium, 100 * efficiency(study, last.ranks, last.iteration_ms), last.ranks);
    times.curves.push_back(std::move(time));
    shares.curves.push_back(std::move(share));
  }
  if (times.curves.empty()) return;
  page.charts.push_back(std::move(times));
  page.charts.push_back(std::move(shares));
  page.tables.push_back(std::move(table));
}

}  // namespace

double predict_iteration_ms(const ScalingStudy& study, const ScalingSweep& sweep, const MeasuredTraining& training) {
  const double ranks = training.ranks, turns = std::max(1.0, ranks / study.cores);
  const double divided = study.alone.forward_ms + study.alone.backward_ms;
  const double backward = study.alone.backward_ms / ranks * turns;
  const double exposed =
      predict(sweep.model, training.buckets,
              {.ranks = training.ranks, .milliseconds = backward, .shares_memory = sweep.shares_memory})
          .exposed_ms;
  return (divided / ranks + study.alone.iteration_ms - divided) * turns + exposed;
}

LabPage page_of(const ScalingStudy& study) {
  LabPage page{.title = "How well does it scale?", .command = study.command, .paragraphs = {}, .charts = {}};
  PredictionErrors errors;
  for (const ScalingSweep& sweep : study.sweeps) add_collectives(study, sweep, page, errors);
  add_trainings(study, page, errors);
  page.paragraphs.push_back(fmt::format(
      "All-reduces alone, by each algorithm, and a training beside them: {}, its gradient {}, its batch divided among "
      "the ranks. {}",
      study.training, format_bytes(static_cast<std::uint64_t>(study.gradient_bytes)), study.how));
  std::string predicted = "Points were measured, lines predicted, by calibrations that saw none of these points. ";
  for (const ScalingSweep& sweep : study.sweeps) predicted += sweep.about + " ";
  predicted +=
      "A training is predicted from its run on one rank: forward and backward divided by the ranks, the update not, "
      "ranks beyond the cores in turns, and the communication that backward does not hide.";
  predicted += kOnKnownSizes;
  page.paragraphs.push_back(predicted);
  errors.conclude(page, study.skipped);
  return page;
}

}  // namespace lockstep::study
