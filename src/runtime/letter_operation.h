#pragma once

#include "runtime/layout.h"
#include "runtime/move_runner.h"
#include "runtime/plan.h"
#include "runtime/running_operation.h"
#include "transport/transport.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace lockstep {

/// Whether every rank sends to every other in the schedule's one step, so that all can be said in one letter each.
bool is_one_exchange(const Schedule& schedule);

/// A small collective in one exchange (is_one_exchange): every rank leaves its whole buffer as a letter and takes in
/// everybody else's. A letter's stamp says which operation it is for, and of which shape, so that in the good case
/// nothing else is looked at: neither progress nor announcements, which are given only once somebody sleeps.
class LetterOperation final : public RunningOperation {
 public:
  struct Setup {
    std::shared_ptr<const Plan> plan;  ///< staged
    Announcement announcement;         ///< but for the sequence
    Layout layout;
  };
  /// What the operations of a group share, since one at a time is between begin and the end.
  struct Letters {
    std::uint64_t last = 0;           ///< number of the letter written last
    std::vector<std::byte> received;  ///< a letter's room for each rank
  };
  /// The buffer is no larger than transport.letter_bytes(). `letters` outlives the operation.
  LetterOperation(Transport& transport, Letters& letters, Setup setup);

  void wait_for_peer_until(Time at_most) override;

 private:
  void enter() override;
  bool go_on() override;
  void show();
  [[noreturn]] void throw_late();
  bool read(int peer) { return transport_.read(peer, letter_, letter_of(peer)); }
  std::byte* letter_of(int peer);
  std::byte* address_of(const Plan::Place& place, int chunk);

  Transport& transport_;
  Letters& letters_;
  std::shared_ptr<const Plan> plan_;
  Layout layout_;
  MoveRunner runner_;
  Letter letter_;
  std::vector<const Plan::Move*> moves_;  ///< those that take in what is in letters
  int next_ = 0;                          ///< peer whose letter is still to be read
  bool shown_ = false;
};

}  // namespace lockstep
