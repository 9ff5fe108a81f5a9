#pragma once

#include <chrono>
#include <string>

namespace lockstep {

/// Where some ranks of a transport meet to make one of their own.
struct Meeting {
  std::string name;   ///< the same on all of them, and of no other meeting of this user
  std::string place;  ///< as the first of them was told by open_meeting; at most kPlaceBytes, any bytes
  int rank = 0;       ///< in the new one
  int size = 1;
  std::chrono::milliseconds timeout{60'000};

  static constexpr std::size_t kPlaceBytes = 32;
};

}  // namespace lockstep
