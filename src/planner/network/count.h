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

/// Who has the most to do.
struct Busiest {
  int rank = 0;  ///< that sends and receives the most together; the lowest of several
  double sent_bytes = 0;
  double received_bytes = 0;
  struct Link {
    int from = 0;
    int to = 0;
    double bytes = 0;
  };
  Link link;  ///< an ordered pair of ranks; the lowest of several
};

/// Takes `link` where it carries more, or as much and is lower.
void take_busier(Busiest::Link& busiest, const Busiest::Link& link);

/// The busiest of some ranks, without its link; `bytes_of(rank)` is what one sends and what it receives.
template <class BytesOf>
Busiest busiest_rank(int ranks, const BytesOf& bytes_of) {
  Busiest busiest{.link = {}};
  for (int rank = 0; rank < ranks; ++rank) {
    const auto [sent, received] = bytes_of(rank);
    if (sent + received <= (busiest.sent_bytes + busiest.received_bytes) * (1 + 1e-9)) continue;
    busiest = {.rank = rank, .sent_bytes = sent, .received_bytes = received, .link = {}};
  }
  return busiest;
}

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
  Busiest busiest;
};

Counts count(const Schedule& schedule, double bytes);

}  // namespace lockstep
