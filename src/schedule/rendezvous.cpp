#include "schedule/rendezvous.h"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace lockstep {

namespace {

/// One half of a transfer, as its rank posted it.
struct Half {
  Transfer transfer;
  int step;

  friend bool operator==(const Half&, const Half&) = default;
};

/// From one rank to another: at most one of the two has entries, those that wait for the other.
struct Channel {
  std::deque<Half> sends;
  std::deque<Half> receives;
};

class Rendezvous {
 public:
  explicit Rendezvous(const std::vector<RankView>& views) : views_(views), progress_(views.size()) {}

  std::optional<Refusal> run() {
    for (int rank = 0; rank < ranks(); ++rank) runnable_.push_back(rank);
    while (!runnable_.empty()) {
      const int rank = runnable_.front();
      runnable_.pop_front();
      if (auto refusal = post_next_step(rank)) return refusal;
    }
    for (int rank = 0; rank < ranks(); ++rank) {
      if (progress_[at(rank)].open > 0) return stuck(rank);
    }
    return std::nullopt;
  }

 private:
  struct Progress {
    int steps = 0;  ///< posted so far
    int open = 0;   ///< halves of the last one that wait
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }
  int ranks() const { return static_cast<int>(views_.size()); }
  Channel& channel(const Transfer& transfer) {
    return channels_[static_cast<std::int64_t>(transfer.from) * ranks() + transfer.to];
  }

  std::optional<Refusal> post_next_step(int rank) {
    Progress& mine = progress_[at(rank)];
    if (at(mine.steps) == views_[at(rank)].steps.size()) return std::nullopt;
    const RankView::Step& step = views_[at(rank)].steps[at(mine.steps)];
    const int number = mine.steps++;
    mine.open = static_cast<int>(step.sends.size() + step.receives.size());
    if (mine.open == 0) runnable_.push_back(rank);
    for (const Transfer& transfer : step.sends) {
      Channel& link = channel(transfer);
      if (auto refusal = post({transfer, number}, link.sends, link.receives)) return refusal;
    }
    for (const Transfer& transfer : step.receives) {
      Channel& link = channel(transfer);
      if (auto refusal = post({transfer, number}, link.receives, link.sends)) return refusal;
    }
    return std::nullopt;
  }

  std::optional<Refusal> post(const Half& half, std::deque<Half>& own, std::deque<Half>& other) {
    if (other.empty()) {
      own.push_back(half);
      return std::nullopt;
    }
    const Half met = other.front();
    other.pop_front();
    if (met != half) {
      return Refusal{
          half.transfer.to, half.transfer.chunk, half.step,
          fmt::format("from rank {} to rank {}, a transfer of chunk {} in step {} meets one of chunk {} in step {} "
                      "at the other end",
                      half.transfer.from, half.transfer.to, half.transfer.chunk, half.step, met.transfer.chunk,
                      met.step)};
    }
    for (const int rank : {half.transfer.from, half.transfer.to}) {
      if (--progress_[at(rank)].open == 0) runnable_.push_back(rank);
    }
    return std::nullopt;
  }

  /// `rank` waits, and nothing moves any more: one of its open halves says for whom.
  Refusal stuck(int rank) const {
    for (const auto& [key, link] : channels_) {
      for (const Half& half : link.sends) {
        if (half.transfer.from == rank) return waits_for_ever(rank, half, half.transfer.to, "receives");
      }
      for (const Half& half : link.receives) {
        if (half.transfer.to == rank) return waits_for_ever(rank, half, half.transfer.from, "sends");
      }
    }
    return {};
  }

  static Refusal waits_for_ever(int rank, const Half& half, int peer, const char* what) {
    return {rank, half.transfer.chunk, half.step,
            fmt::format("rank {} waits for ever for rank {}, which never {} chunk {} in this step", rank, peer, what,
                        half.transfer.chunk)};
  }

  const std::vector<RankView>& views_;
  std::vector<Progress> progress_;
  std::deque<int> runnable_;
  std::unordered_map<std::int64_t, Channel> channels_;
};

}  // namespace

std::optional<Refusal> check_rendezvous(const std::vector<RankView>& views) { return Rendezvous(views).run(); }

}  // namespace lockstep
