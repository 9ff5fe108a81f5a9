#pragma once

#include "schedule/schedule.h"

#include <cstddef>

namespace lockstep {

/// Where things stand across a picture of a schedule: a lane a rank, in it a box a chunk. Where not all chunks fit on a
/// page that a person can read, the first ones are drawn. All in pixels.
class DrawingLayout {
 public:
  /// More ranks than this have no picture: their boxes would be too small to see anything in.
  static constexpr int kMostRanks = 64;

  static constexpr double kHeadingSize = 18;  ///< of the font of the schedule's name, above all

  explicit DrawingLayout(const Schedule& schedule);

  int ranks() const { return ranks_; }
  int chunks() const { return chunks_; }  ///< that are drawn
  bool shows(const Transfer& transfer) const { return transfer.chunk < chunks_; }
  double box_width() const { return box_width_; }
  double lane_width() const;
  double lane_left(int rank) const;
  double box_left(int rank, int chunk) const;
  double width() const;
  double label_size() const;  ///< of the font, in a box

  /// What text takes in a monospaced font of this size, which is what pictures are labelled in.
  static double text_width(std::size_t characters, double font_size);

 private:
  double lane_gap() const;
  double lane_padding() const;

  int ranks_;
  int chunks_;
  double heading_width_;
  double box_width_;
};

}  // namespace lockstep
