#pragma once

#include "report/lab_page.h"

namespace lockstep {

/// The page of an experiment for tests: time of an all-reduce by bytes, logarithmic and linear, with the model's line.
inline LabPage example_lab() {
  LabPage page{"All-reduce on 4 ranks", "lockstep lab buckets -n 4", {"What was done.", "What is seen."}, {}};
  LabCurve ring{"ring", {}, {}}, direct{"direct", {}, {}};
  for (int power = 10; power <= 26; ++power) {
    const double bytes = static_cast<double>(1 << power);
    const auto model = [&](double alpha_us, double bandwidth) { return alpha_us + bytes / bandwidth; };
    ring.predicted.emplace_back(bytes, model(30, 4000));
    direct.predicted.emplace_back(bytes, model(8, 2500));
    if (power % 2 == 1) continue;
    ring.measured.emplace_back(bytes, model(30, 4000) * (power % 4 ? 1.06 : 0.95));
    direct.measured.emplace_back(bytes, model(8, 2500) * (power % 4 ? 0.97 : 1.08));
  }
  page.charts.push_back(
      {"Time", {"bytes of the message", true, true}, {"microseconds", true}, {ring, direct}, "Flat is alpha."});
  page.charts.push_back({"Efficiency", {"ranks"}, {"share of perfect"}, {{"threads", {{1, 1}, {2, 0.97}, {4, 0.9}}}}});
  page.charts.push_back({"Nothing", {"ranks"}, {"share"}, {{"not measured", {}}}});
  page.bars.push_back({"Memory at stage 3", {{"parameters", 4096, 4096}, {"gathered", 1 << 20, 5 << 18}}});
  page.tables.push_back({"Errors", {"algorithm", "median"}, {{"ring", "5.4 %"}, {"direct", "4.1 %"}}});
  return page;
}

}  // namespace lockstep
