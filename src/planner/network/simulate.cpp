#include "planner/network/simulate.h"

#include "base/index.h"
#include "planner/network/count.h"
#include "planner/network/fair_sharing.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace lockstep {

namespace {

static_assert(FairSharing::kMostUses >= Wiring::kMostUses);

class Execution {
 public:
  Execution(const Schedule& schedule, double bytes, const Wiring& wiring)
      : wiring_(wiring),
        chunk_bytes_(chunk_bytes(schedule, bytes)),
        messages_(messages_of(schedule)),
        under_way_(messages_.size()),
        ranks_(at(schedule.ranks)),
        sharing_(wiring.resources().size()) {
    result_.busy_seconds.resize(wiring.resources().size());
    result_.rank_seconds.resize(ranks_.size());
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      ranks_[at(messages_[i].from)].messages.push_back(static_cast<int>(i));
      ranks_[at(messages_[i].to)].messages.push_back(static_cast<int>(i));
    }
  }

  std::optional<Simulation> run(Effort& left) {
    const double most = std::exchange(left.looked_at, 0);
    if (most_at_once() > left.messages_at_once) return std::nullopt;
    for (int rank = 0; rank < static_cast<int>(ranks_.size()); ++rank) enter_step(rank);
    while (true) {
      // Not by recursion: where everything costs nothing, all of the schedule happens here.
      while (!ready_.empty()) {
        const int message = ready_.back();
        ready_.pop_back();
        go_on(message);
      }
      const std::vector<int>& done = sharing_.next();
      if (done.empty()) break;
      if (sharing_.looked_at() > most) return std::nullopt;
      ready_.insert(ready_.end(), done.rbegin(), done.rend());
    }
    left.looked_at = most - sharing_.looked_at();
    result_.seconds = sharing_.now();
    return std::move(result_);
  }

 private:
  enum class Phase : std::uint8_t { kWaiting, kStart, kLatency, kBytes, kReduction, kDone };
  struct UnderWay {
    std::uint8_t ranks_ready = 0;
    Phase phase = Phase::kWaiting;
  };
  struct Rank {
    std::vector<int> messages;  ///< sent and received, in order of their steps
    std::size_t next = 0;       ///< the first message of the steps to come
    int unfinished = 0;         ///< messages of the present step
  };

  /// The most messages of one step.
  double most_at_once() const {
    std::vector<std::size_t> of_step;
    for (const Message& message : messages_) {
      of_step.resize(std::max(of_step.size(), at(message.step) + 1));
      ++of_step[at(message.step)];
    }
    return of_step.empty() ? 0 : static_cast<double>(*std::max_element(of_step.begin(), of_step.end()));
  }

  /// A rank that has nothing unfinished goes on to its next step in which it sends or receives.
  void enter_step(int number) {
    Rank& rank = ranks_[at(number)];
    if (rank.next == rank.messages.size()) {
      result_.rank_seconds[at(number)] = sharing_.now();
      return;
    }
    const int step = messages_[at(rank.messages[rank.next])].step;
    const std::size_t first = rank.next;
    while (rank.next < rank.messages.size() && messages_[at(rank.messages[rank.next])].step == step) ++rank.next;
    rank.unfinished = static_cast<int>(rank.next - first);
    for (std::size_t i = first; i < rank.next; ++i) {
      if (++under_way_[at(rank.messages[i])].ranks_ready == 2) ready_.push_back(rank.messages[i]);
    }
  }

  /// The work of a phase from what it takes of each resource; false if that is nothing.
  bool start_work(int message, const Wiring::Path& path, double messages, double copied, double reduced) {
    FairSharing::Work work;
    for (std::size_t i = 0; i < path.use_count; ++i) {
      const Wiring::Use& use = path.uses[i];
      const double seconds =
          messages * use.seconds_per_message + copied * use.seconds_per_byte + reduced * use.seconds_per_byte_reduced;
      if (seconds <= 0) continue;
      result_.busy_seconds[at(use.resource)] += seconds;
      work.uses[work.use_count++] = {use.resource, seconds};
      work.alone_s = std::max(work.alone_s, seconds);
    }
    if (work.use_count == 0) return false;
    for (std::size_t i = 0; i < work.use_count; ++i) work.uses[i].share /= work.alone_s;
    sharing_.start(work, message);
    return true;
  }

  bool start_delay(int message, double seconds) {
    if (seconds <= 0) return false;
    sharing_.start({.alone_s = seconds, .use_count = 0, .uses = {}}, message);
    return true;
  }

  bool start_reduction(int message, double bytes) {
    Wiring::Path core;
    core.use_count = 1;
    core.uses[0] = {wiring_.core_of(messages_[at(message)].to), 0, wiring_.network().gamma_s, 0};
    return start_work(message, core, 0, bytes, 0);
  }

  /// On to the next phase that takes time.
  void go_on(int number) {
    const Message& message = messages_[at(number)];
    const double reduced = message.reduced_chunks * chunk_bytes_;
    const double copied = message.chunks * chunk_bytes_ - reduced;
    Phase& phase = under_way_[at(number)].phase;
    const Wiring::Path path = wiring_.path(message.from, message.to);
    while (phase != Phase::kDone) {
      phase = static_cast<Phase>(static_cast<int>(phase) + 1);
      if (phase == Phase::kStart && start_work(number, path, 1, 0, 0)) return;
      if (phase == Phase::kLatency && start_delay(number, path.latency_s)) return;
      if (phase == Phase::kBytes && start_work(number, path, 0, copied, reduced)) return;
      if (phase == Phase::kReduction && start_reduction(number, reduced)) return;
    }
    for (const int rank : {message.from, message.to}) {
      if (--ranks_[at(rank)].unfinished == 0) enter_step(rank);
    }
  }

  const Wiring& wiring_;
  double chunk_bytes_;
  std::vector<Message> messages_;
  std::vector<UnderWay> under_way_;
  std::vector<Rank> ranks_;
  std::vector<int> ready_;  ///< messages that may go on now
  FairSharing sharing_;
  Simulation result_;
};

}  // namespace

std::optional<Simulation> simulate_within(Effort& left, const Schedule& schedule, double bytes, const Wiring& wiring) {
  return Execution(schedule, bytes, wiring).run(left);
}

Simulation simulate(const Schedule& schedule, double bytes, const Wiring& wiring) {
  Effort unbounded;
  return *simulate_within(unbounded, schedule, bytes, wiring);
}

}  // namespace lockstep
