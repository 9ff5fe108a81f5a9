#pragma once

#include "report/lab_page.h"
#include "report/record.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lockstep::study {

/// On which predictions count, for a page's words on where they come from.
inline constexpr const char* kOnKnownSizes =
    " A training with a bucket of a size that the calibration measured counts in no error.";

/// Whether a bucket has one of the sizes that a calibration measured, so that it knows a part of what it predicts.
bool has_known_size(const std::vector<BucketRecord>& buckets, const std::vector<std::uint64_t>& calibrated);

/// How far predictions are from what was measured, by what was predicted: |predicted - measured| / measured.
class PredictionErrors {
 public:
  void add(const std::string& what, double predicted, double measured);
  /// Points of both that have the same x, but for those at the x of which the calibration knows a part.
  void add(const std::string& what, const LabCurve& curve, const std::set<double>& known = {});
  /// A prediction of which the calibration knows a part: it is no prediction, and counts in no error.
  void leave_out() { ++left_out_; }

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
  std::size_t left_out_ = 0;
  std::vector<std::pair<std::string, std::vector<double>>> groups_;  ///< in the order in which they came
};

}  // namespace lockstep::study
