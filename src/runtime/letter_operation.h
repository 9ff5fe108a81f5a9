#pragma once

#include "runtime/layout.h"
#include "runtime/list_bytes.h"
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

/// The chunks first, first + 1, ... end - 1.
struct ChunkRange {
  int first = 0;
  int end = 0;
};
/// By rank, for a schedule of one step: from the first to the last chunk that it sends, which is what its letter holds.
/// In an all_gather that is the rank's own block.
std::vector<ChunkRange> letter_chunks(const Schedule& schedule);

/// What of a rank's buffer is in its letter.
struct LetterSpan {
  std::size_t offset_bytes = 0;
  std::size_t bytes = 0;
};
/// By rank: letter_chunks() as they lie in the buffer.
std::vector<LetterSpan> letter_spans(const Schedule& schedule, const Layout& layout, DataType dtype);
/// Bytes of the longest.
std::size_t longest(const std::vector<LetterSpan>& letters);

/// A small collective in one exchange (is_one_exchange): every rank leaves what others read of its buffer as a letter
/// and takes in everybody else's. A letter's stamp says which operation it is for, and of which shape, so that in the
/// good case nothing else is looked at: neither progress nor announcements, which are given only once somebody sleeps.
class LetterOperation final : public RunningOperation {
 public:
  struct Setup {
    std::shared_ptr<const Plan> plan;  ///< staged
    Announcement announcement;         ///< but for the sequence
    Layout layout;
    std::vector<LetterSpan> spans;  ///< letter_spans(); none longer than transport.letter_bytes()
  };
  /// What the operations of a group share, since one at a time is between begin and the end.
  struct Letters {
    std::uint64_t last = 0;           ///< number of the letter written last
    std::vector<std::byte> received;  ///< a letter's room for each rank
  };
  /// `letters` outlives the operation.
  LetterOperation(Transport& transport, Letters& letters, Setup setup);

  void wait_for_peer_until(Time at_most) override;
  std::size_t bytes_kept() const override { return sizeof *this + bytes_of_lists(spans_, parts_); }

 private:
  /// A move that takes in what is in letters.
  struct Part {
    const Plan::Move* move = nullptr;
    std::size_t count = 0;         ///< elements of the chunk
    std::size_t input_offset = 0;  ///< of it in a rank's buffer, in bytes
    std::size_t output_offset = 0;
  };

  void enter() override;
  bool go_on() override;
  void show();
  [[noreturn]] void throw_late();
  bool read(int peer) { return transport_.read(peer, letter_from(peer), room_for(peer)); }
  const LetterSpan& span_of(int rank) const { return spans_[static_cast<std::size_t>(rank)]; }
  Letter letter_from(int rank) const { return {letters_.last, stamp_, span_of(rank).bytes}; }
  std::byte* room_for(int peer) { return letters_.received.data() + static_cast<std::size_t>(peer) * room_bytes_; }
  std::byte* address_of(const Plan::Place& place, const Part& part);

  // What a small operation does is little: what it asks for each time is at hand.
  Transport& transport_;
  int rank_;
  int size_;
  std::size_t room_bytes_;  ///< for a rank's letter
  Letters& letters_;
  std::shared_ptr<const Plan> plan_;
  MoveRunner runner_;
  std::vector<LetterSpan> spans_;
  std::vector<Part> parts_;
  std::uint64_t stamp_ = 0;
  int next_ = 0;  ///< peer whose letter is still to be read
  bool shown_ = false;
};

}  // namespace lockstep
