#pragma once

#include <string>

namespace lockstep {

/// The machine that a calibration belongs to. Nothing in it changes when it boots again.
struct Machine {
  std::string processor;  ///< as the system names it
  int cores = 1;          ///< that all ranks together may use
  double memory_bytes = 0;
  double cache_bytes_first = 0;   ///< of data, that a core has for itself (level 1)
  double cache_bytes_a_core = 0;  ///< that a core has for itself (level 2)
  double cache_bytes_shared = 0;  ///< that all cores share (level 3); 0: none

  friend bool operator==(const Machine&, const Machine&) = default;
};

/// The machine this runs on, as /proc and /sys describe it; what they do not say is 0 or "unknown".
Machine this_machine();

}  // namespace lockstep
