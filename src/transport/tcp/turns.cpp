#include "transport/tcp/turns.h"

namespace lockstep::tcp {

bool take_turns(int ranks_here, int cores) { return ranks_here > cores; }

std::size_t piece_bytes_over_loopback(int ranks, int cores) {
  constexpr std::size_t kNearTheCores = std::size_t{1} << 20;
  return take_turns(ranks, cores) ? kNearTheCores : 0;
}

}  // namespace lockstep::tcp
