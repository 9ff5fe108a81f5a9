#pragma once

#include "base/clock.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace lockstep {

/// Those with whom a rank joins, where they are a part of a group already: what errors call them, and how that group
/// fares meanwhile. Empty: they meet for the first time.
struct Company {
  std::vector<int> names;        ///< by rank: its number in that group; empty: the rank itself
  std::function<void()> look{};  ///< throws if one of that group has died or failed; who waits calls it now and then

  /// How often who waits looks whether its peers are alive.
  static constexpr std::chrono::milliseconds kLookAround{20};
  /// For the word that explains why a connection broke.
  static constexpr std::chrono::milliseconds kLastWord{500};

  /// Until when who waits for `deadline` may sleep before he looks.
  static Clock::time_point next_look(Clock::time_point deadline) {
    return std::min(deadline, Clock::now() + kLookAround);
  }
  int name(int rank) const {
    const auto at = static_cast<std::size_t>(rank);
    return at < names.size() ? names[at] : rank;
  }
  void look_around() const {
    if (look) look();
  }
  /// Whose connection broke may have said why to the group, or another may: that comes before what a broken connection
  /// tells.
  void await_last_word() const {
    const auto end = std::chrono::steady_clock::now() + kLastWord;
    while (look && std::chrono::steady_clock::now() < end) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
};

/// Where some ranks of a transport meet to make one of their own.
struct Meeting {
  std::string name;   ///< the same on all of them, and of no other meeting of this user
  std::string place;  ///< as the first of them was told by open_meeting; at most kPlaceBytes, any bytes
  int rank = 0;       ///< in the new one
  int size = 1;
  std::chrono::milliseconds timeout{60'000};
  Company company{};

  static constexpr std::size_t kPlaceBytes = 32;
};

}  // namespace lockstep
