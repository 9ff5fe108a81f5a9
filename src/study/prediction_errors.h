#pragma once

#include "report/lab_page.h"

#include <string>
#include <utility>
#include <vector>

namespace lockstep::study {

/// How far predictions are from what was measured, by what was predicted: |predicted - measured| / measured.
class PredictionErrors {
 public:
  void add(const std::string& what, double predicted, double measured);
  /// Points of both that have the same x.
  void add(const std::string& what, const LabCurve& curve);

  bool empty() const { return groups_.empty(); }
  double median() const;
  double worst() const;
  /// "The 12 predictions of times have a median error of 7 %, at worst 21 % (ring, 4 ranks)."
  std::string sentence(const std::string& of = "times") const;
  /// Ends a page on times: the sentence, what was `skipped` (a sentence, or empty), and the table.
  void conclude(LabPage& page, const std::string& skipped) const;
  /// A row for each kind and one for all.
  LabTable table(const std::string& of = "times") const;

 private:
  std::vector<double> all() const;
  std::vector<std::pair<std::string, std::vector<double>>> groups_;  ///< in the order in which they came
};

}  // namespace lockstep::study
