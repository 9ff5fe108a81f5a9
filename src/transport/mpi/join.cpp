#include "transport/mpi/join.h"

#include "transport/joining.h"

#include <fmt/format.h>
#include <lockstep/error.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

namespace lockstep::mpi {

namespace {

using Deadline = std::chrono::steady_clock::time_point;

constexpr int kMeetingTag = 3;  ///< of a group's
constexpr int kNobody = -1;

/// Of its own, since MPI may keep them.
using Words = std::unique_ptr<std::vector<int>>;

Words words(std::size_t count) { return std::make_unique<std::vector<int>>(count, kNobody); }

std::span<std::byte> bytes_of(const Words& values) { return std::as_writable_bytes(std::span(*values)); }

/// What came, once it has; none if the deadline passed first.
std::optional<Process::Came> await(const Process& process, Request& request, Deadline deadline,
                                   const Company& company = {}) {
  while (true) {
    if (const auto came = process.test(request)) return came;
    company.look_around();
    if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

struct Heard {
  Words words;
  int from;  ///< in MPI_COMM_WORLD
};
/// How long one waits, and for what he looks meanwhile.
struct Patience {
  Deadline deadline;
  const Company& company;
};
/// So many words; none if the deadline passed first.
std::optional<Heard> receive(const Process& process, std::size_t count, int from, int tag, const Patience& patience) {
  Words into = words(count);
  Request request;
  process.receive(request, bytes_of(into), from, tag);
  try {
    if (const auto came = await(process, request, patience.deadline, patience.company))
      return Heard{std::move(into), came->from};
  } catch (const Error&) {
    process.give_up_receive(request, std::move(into));
    throw;
  }
  process.give_up_receive(request, std::move(into));
  return std::nullopt;
}

/// The leader's side: hears from all others who they are. By rank: its number in the world.
std::vector<int> gather(const Process& process, int tag, int size, const Patience& patience) {
  std::vector<int> world_ranks(static_cast<std::size_t>(size), kNobody);
  world_ranks[0] = process.rank();
  for (int i = 1; i < size; ++i) {
    const auto heard = receive(process, 1, -1, tag, patience);
    if (!heard) break;
    world_ranks.at(static_cast<std::size_t>(heard->words->front())) = heard->from;
  }
  return world_ranks;
}

/// Small enough for MPI to take it at once; if it does not, the others miss it at their deadlines.
void send(const Process& process, const std::vector<int>& what, int to, int tag, Deadline deadline) {
  auto kept = std::make_unique<std::vector<int>>(what);
  Request request;
  process.send(request, bytes_of(kept), to, tag, false);
  if (!await(process, request, deadline)) process.give_up_send(request, std::move(kept));
}

}  // namespace

std::string Place::to_bytes() const { return {reinterpret_cast<const char*>(this), sizeof *this}; }

Place Place::from_bytes(const std::string& bytes) {
  Place place;
  std::memcpy(&place, bytes.data(), std::min(bytes.size(), sizeof place));
  return place;
}

Joined join(const Process& process, const Place& place, const Meeting& meeting) {
  const int rank = meeting.rank;
  const int size = meeting.size;
  const Company& company = meeting.company;
  const Deadline deadline = std::chrono::steady_clock::now() + meeting.timeout;
  const Patience patience{deadline, company};
  const int tag = place.tag + kMeetingTag;
  const double seconds = static_cast<double>(meeting.timeout.count()) / 1000;
  if (rank == 0) {
    std::vector<int> answer = gather(process, tag, size, patience);
    std::vector<int> missing;
    for (int other = 0; other < size; ++other) {
      if (answer[static_cast<std::size_t>(other)] == kNobody) missing.push_back(company.name(other));
    }
    if (!missing.empty()) {
      throw Error(ErrorCode::kTimeout,
                  fmt::format("Rank {} waited {} s for {} to join over MPI. Do all {} ranks make this group?",
                              company.name(0), seconds, ranks_in_words(missing), size),
                  {.rank = company.name(0), .peer = missing.front()});
    }
    answer.push_back(place.tag > 0 ? place.tag : process.next_group());
    for (int other = 1; other < size; ++other)
      send(process, answer, answer[static_cast<std::size_t>(other)], tag, deadline);
    const int own_tag = answer.back();
    answer.pop_back();
    return {std::move(answer), own_tag};
  }
  send(process, {rank}, place.leader, tag, deadline);
  const auto heard = receive(process, static_cast<std::size_t>(size) + 1, place.leader, tag, patience);
  if (!heard) {
    throw Error(ErrorCode::kTimeout,
                fmt::format("Rank {} waited {} s for rank {}'s answer over MPI. Do all {} ranks make this group?",
                            company.name(rank), seconds, company.name(0), size),
                {.rank = company.name(rank), .peer = company.name(0)});
  }
  std::vector<int>& answer = *heard->words;
  const int own_tag = answer.back();
  answer.pop_back();
  return {std::move(answer), own_tag};
}

}  // namespace lockstep::mpi
