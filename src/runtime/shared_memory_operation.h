#pragma once

#include "runtime/layout.h"
#include "runtime/list_bytes.h"
#include "runtime/move_runner.h"
#include "runtime/plan.h"
#include "runtime/running_operation.h"
#include "runtime/staging_ring.h"
#include "runtime/write_policy.h"
#include "transport/transport.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

/// In place, where the buffers of all ranks together have so many bytes, caches hold little of them: chunks are dealt
/// out in blocks of about so many. Not by what caches this machine has: ranks must cut alike, and a container may show
/// one others.
struct Dealing {
  std::size_t least_of_all_bytes = std::size_t{64} << 20;
  std::size_t block_bytes = std::size_t{1} << 20;
};

/// A collective over a transport that shows every peer's memory: runs a plan, in place or through the staging area,
/// piece after piece.
class SharedMemoryOperation final : public RunningOperation {
 public:
  struct Setup {
    std::shared_ptr<const Plan> plan;
    Announcement announcement;  ///< but for sequence and offsets
    Layout layout;
    WritePolicy::Caches caches = {};
    Dealing dealing = {};  ///< the same on all ranks
  };
  /// `staging` is the group's; one operation at a time is between begin and the end. Throws Error (kUnsupported) if the
  /// staging area is too small for the schedule.
  SharedMemoryOperation(Transport& transport, StagingRing& staging, Setup setup);

  void wait_for_peer_until(Time at_most) override;
  int pieces() const override { return static_cast<int>(layout_.pieces()); }
  std::size_t bytes_kept() const override { return sizeof *this + layout_.bytes_kept() + bytes_of_lists(peers_); }

 private:
  struct Peer {
    bool agrees = false;
    std::uint64_t input_offset = 0;
    std::uint64_t output_offset = 0;
  };

  bool is_staged() const { return plan_->is_staged(); }
  void enter() override;
  bool go_on() override;
  bool enter_piece();
  bool satisfied(const std::vector<Plan::Wait>& waits, Progress start);
  void check_agreement(int peer);
  /// So that peers see what this rank is about while it still waits for room to begin.
  void show_that_it_has_come();
  [[noreturn]] void throw_late(int peer) const;
  /// The moves of the present step.
  void carry_out(const Plan::Step& step);
  /// Throws what a peer failed of whose memory the step goes into, in place: it is its caller's again. A peer that is
  /// through with the operation has waited for the end of the step first, so that it has not failed before that.
  void check_owners_of(const Plan::Step& step);
  /// What of each chunk's slice is moved.
  struct Part {
    std::size_t piece;      ///< or row
    std::uint64_t turn;     ///< of the piece's use of its slot
    std::size_t begin = 0;  ///< element from which on
  };
  /// The layout in slices that fit the staging area: as the plan has them, or of what there is room for where that
  /// would take more steps than a rank can count.
  Layout cut_into_pieces() const;
  std::size_t room_for_a_place() const;
  /// Throws Error (kUnsupported): what this operation is asked for does not go through the staging area.
  [[noreturn]] void refuse(const std::string& why) const;
  /// A move of the present step: of what is dealt out the end of the buffer first, which a rank that has just written
  /// all of it still has in its caches.
  void carry_out_rows(const Plan::Move& move);
  /// One row or piece of it; where steps are woven, of the next piece's first one too.
  void carry_out(const Plan::Move& move, const Part& part);
  /// The last step of this piece and the first one of the next, in one pass.
  void weave();
  /// How many elements a move has, and where the first one lies.
  std::size_t count_of(const Plan::Move& move, const Part& part) const;
  std::byte* address_of(const Plan::Place& place, int chunk, const Part& part) const;
  /// This rank's progress, or a peer's, `ticks` into the present piece.
  Progress progress_at(int ticks) const;

  Transport& transport_;
  StagingRing& staging_;
  std::shared_ptr<const Plan> plan_;
  Layout layout_;
  WritePolicy write_policy_;
  MoveRunner runner_;

  std::vector<Peer> peers_;
  bool in_piece_ = false;
  std::size_t piece_ = 0;
  std::size_t position_ = 0;  ///< in the plan's steps
  /// What a staged slice has of the area: no less than itself, and one of few sizes, so that operations alike but in
  /// size lay theirs at the same places.
  std::size_t place_bytes_ = 0;
  StagingRing::Turns* turns_ = nullptr;  ///< where it is staged
  std::size_t slot_offset_ = 0;
  std::uint64_t turn_ = 0;  ///< of this piece's use of the slot
  std::optional<std::pair<int, Progress>> blocked_on_;
};

}  // namespace lockstep
