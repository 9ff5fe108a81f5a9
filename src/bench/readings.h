#pragma once

#include <vector>

namespace lockstep::bench {

/// What one round found of a point.
struct Reading {
  int round = 0;
  double seconds = 0;   ///< of an operation
  double distance = 0;  ///< of the cores from each other, meanwhile (CrossingProbe)
};

/// What a point takes, in one state of the machine.
struct Found {
  double seconds = 0;  ///< 0: too few readings to tell
  double error = 0;    ///< the standard error of its logarithm
};

/// What is made of all readings of a point.
struct Finding {
  Found usual;            ///< in the state in which the machine was for most of the time
  Found other;            ///< while its cores were closer to each other or further
  bool is_clear = false;  ///< enough readings that say the same, in rounds of which enough are as fast
};

/// Of one size, points that were measured beside each other, round by round.
using Points = std::vector<std::vector<Reading>>;

/// Of sizes, in ascending order, and their points, by their readings: those in which cores were about as far from each
/// other as usual, and the others by themselves, of which a point must have three. What made a round slow made all
/// points of a size in it slow, and is no difference between them (median_polish.h), and nearly as slow those of the
/// next size (fast_levels.h): each has the time that it takes in the fastest quarter of the rounds.
std::vector<std::vector<Finding>> findings_of(const std::vector<Points>& sizes, double usual_distance);

}  // namespace lockstep::bench
