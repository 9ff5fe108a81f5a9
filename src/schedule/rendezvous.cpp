#include "schedule/rendezvous.h"

#include "base/index.h"

#include <fmt/format.h>

#include <cstdint>
#include <deque>
#include <unordered_map>

namespace lockstep {

namespace {

/// From one rank to another, while something waits for its other half there: all of one direction, and of one step,
/// since whoever posted it posts no other before these are met.
struct Channel {
  std::vector<const TransferHalf*> waiting;
  std::size_t met = 0;  ///< of them, from the first on
};

class Rendezvous {
 public:
  explicit Rendezvous(const Posts& posts) : posts_(posts), progress_(posts.size()) {}

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
    std::size_t posted = 0;  ///< so far
    int open = 0;            ///< halves of the last step that wait
  };

  int ranks() const { return static_cast<int>(posts_.size()); }
  std::int64_t key_of(const Transfer& transfer) const {
    return static_cast<std::int64_t>(transfer.from) * ranks() + transfer.to;
  }

  std::optional<Refusal> post_next_step(int rank) {
    const std::vector<TransferHalf>& all = posts_[at(rank)];
    Progress& mine = progress_[at(rank)];
    const std::size_t first = mine.posted;
    while (mine.posted < all.size() && all[mine.posted].step == all[first].step) ++mine.posted;
    mine.open = static_cast<int>(mine.posted - first);
    for (std::size_t i = first; i < mine.posted; ++i) {
      if (auto refusal = post(all[i])) return refusal;
    }
    return std::nullopt;
  }

  std::optional<Refusal> post(const TransferHalf& half) {
    const auto found = channels_.try_emplace(key_of(half.transfer)).first;
    Channel& channel = found->second;
    if (channel.waiting.empty() || channel.waiting.front()->is_send == half.is_send) {
      channel.waiting.push_back(&half);
      return std::nullopt;
    }
    const TransferHalf& met = *channel.waiting[channel.met++];
    if (channel.met == channel.waiting.size()) channels_.erase(found);
    if (met.transfer != half.transfer || met.step != half.step) return do_not_match(half, met);
    for (const int rank : {half.transfer.from, half.transfer.to}) {
      if (--progress_[at(rank)].open == 0) runnable_.push_back(rank);
    }
    return std::nullopt;
  }

  static Refusal do_not_match(const TransferHalf& half, const TransferHalf& met) {
    return {half.transfer.to, half.transfer.chunk, half.step,
            fmt::format("from rank {} to rank {}, a transfer of chunk {} in step {} meets one of chunk {} in step {} "
                        "at the other end",
                        half.transfer.from, half.transfer.to, half.transfer.chunk, half.step, met.transfer.chunk,
                        met.step)};
  }

  /// `rank` waits, and nothing moves any more: one of its open halves says for whom.
  Refusal stuck(int rank) const {
    for (const auto& [key, channel] : channels_) {
      const TransferHalf& half = *channel.waiting[channel.met];
      const auto& [kind, chunk, from, to] = half.transfer;
      if ((half.is_send ? from : to) != rank) continue;
      return {rank, chunk, half.step,
              fmt::format("rank {} waits for ever for rank {}, which never {} chunk {} in this step", rank,
                          half.is_send ? to : from, half.is_send ? "receives" : "sends", chunk)};
    }
    return {};
  }

  const Posts& posts_;
  std::vector<Progress> progress_;
  std::deque<int> runnable_;
  std::unordered_map<std::int64_t, Channel> channels_;  ///< those in which something waits
};

}  // namespace

Posts posts_of(const Schedule& schedule) {
  std::vector<std::size_t> sizes(at(schedule.ranks));
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step) {
      ++sizes[at(transfer.from)];
      ++sizes[at(transfer.to)];
    }
  }
  Posts posts(at(schedule.ranks));
  for (std::size_t rank = 0; rank < posts.size(); ++rank) posts[rank].reserve(sizes[rank]);
  for (std::size_t step = 0; step < schedule.steps.size(); ++step) {
    for (const Transfer& transfer : schedule.steps[step]) {
      posts[at(transfer.from)].push_back({transfer, static_cast<int>(step), true});
      posts[at(transfer.to)].push_back({transfer, static_cast<int>(step), false});
    }
  }
  return posts;
}

std::optional<Refusal> check_rendezvous(const Posts& posts) { return Rendezvous(posts).run(); }

}  // namespace lockstep
