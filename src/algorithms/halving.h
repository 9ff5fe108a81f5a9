#pragma once

#include "algorithms/core_ranks.h"
#include "algorithms/pieces.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace lockstep::algorithm {

/// With which of `size` core ranks, a power of two, core rank `me` exchanges in the given step of a halving.
using Partner = int (*)(int me, int step, int size);

/// At distance 1, 2, 4, ...: whose number differs in one bit.
inline int bit_partner(int me, int step, int) { return me ^ (1 << step); }

/// Around a ring by 1, -1, 3, -5, 11, ...: 1 - 2 + 4 - ... up to the step's power of two. The even ranks go this way,
/// the odd ones the other way, so that they meet.
inline int swing_partner(int me, int step, int size) {
  const int power = 2 << step;
  const int distance = (step % 2 == 0 ? 1 + power : 1 - power) / 3;
  return wrapped(me % 2 == 0 ? me + distance : me - distance, size);
}

/// Two who stand for all `period` places: of the core ranks, those that are at one of these places modulo `period`.
struct Reach {
  int first;
  int second;  ///< the first again where there is but one
  int period;
};

/// Whose chunks `me` has left to sum before the given step of a halving: those that its steps from there on lead to.
/// Modulo 2, 4, 8, ... of a step all later ones of either kind of partner lead back and forth between two places.
inline Reach reach_of(Partner partner, int me, int step, int size) {
  if (1 << step == size) return {me, me, size};
  const int period = 2 << step;
  const int mine = me % period;
  const int other = partner(me, step, size) % period;
  return {std::min(mine, other), std::max(mine, other), period};
}

/// Recursive halving and doubling with these partners: what halving_doubling and swing have in common.
Schedule halve_and_double(std::string_view name, const ScheduleRequest& request, Partner partner);

}  // namespace lockstep::algorithm
