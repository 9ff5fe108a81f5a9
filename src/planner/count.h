#pragma once

#include "schedule/schedule.h"

#include <cstdint>
#include <vector>

namespace lockstep {

/// Everything that one rank sends another in one step: one message.
struct Message {
  int step;
  int from;
  int to;
  int chunks;          ///< copied and reduced
  int reduced_chunks;  ///< of those, reduced
};

/// The bytes of one chunk where each rank's buffer has `bytes`: an all_to_all has chunks of every rank's own.
inline double chunk_bytes(const Schedule& schedule, double bytes) {
  const double buffers = schedule.collective == Collective::kAllToAll ? schedule.ranks : 1;
  return buffers * bytes / schedule.chunks;
}

/// The messages of a whole schedule, by step, then sender, then receiver.
std::vector<Message> messages_of(const Schedule& schedule);

/// What a schedule moves, without any network. Bytes are exact where the chunks divide the buffer.
struct Counts {
  int ranks = 0;
  std::uint64_t steps = 0;
  std::uint64_t transfers = 0;
  std::uint64_t messages = 0;
  double bytes = 0;  ///< in all
  struct Rank {
    double sent_bytes = 0;
    double received_bytes = 0;
    double reduced_bytes = 0;
  };
  std::vector<Rank> by_rank;
  double most_sent_bytes = 0;  ///< of one rank
  int busiest_rank = 0;        ///< that sends and receives the most together; the lowest of several
  struct Link {
    int from = 0;
    int to = 0;
    double bytes = 0;
  };
  Link busiest_link;  ///< an ordered pair of ranks; the lowest of several
};

Counts count(const Schedule& schedule, double bytes);

}  // namespace lockstep
