#pragma once

#include "schedule/schedule.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace lockstep {

/// A transfer that was carried out, in the schedule's words. Tests compare what happened with what was planned.
struct ExecutedTransfer {
  int step;
  Transfer transfer;

  friend bool operator==(const ExecutedTransfer&, const ExecutedTransfer&) = default;
};

using TransferRecorder = std::function<void(const ExecutedTransfer&)>;

/// One rank's part of a schedule, made ready to run where ranks read each other's memory. Made from the whole schedule:
/// what has to be waited for is just what the transfers need, derived from them and never typed by a person.
///
/// A rank says how far it is in ticks: a tick is a step of the plan all of whose writes are done.
struct Plan {
  /// Where a value lies: in a rank's buffer, which peers see if it is registered memory, or in its staging area, where
  /// each version of a chunk that somebody else reads has a place of its own.
  enum class Memory : std::uint8_t { kInput, kOutput, kStaging };
  /// A place in the staging area of a rank.
  struct Stage {
    int rank;
    int chunk;
    int version;

    friend auto operator<=>(const Stage&, const Stage&) = default;
  };
  /// Values that go on to each other's places from one use of the area to the next (staging_rotations.h): at turn t the
  /// i-th lies where at turn 0 the one t further on lies, which at turn 0 is each in its own place.
  using Rotation = std::vector<Stage>;
  /// Of a value in a rotation.
  struct Seat {
    int rotation = -1;  ///< of the plan's; -1: it stays where it is
    int position = 0;

    bool rotates() const { return rotation >= 0; }
    friend bool operator==(const Seat&, const Seat&) = default;
  };
  struct Place {
    int rank;
    Memory memory;
    int version;  ///< in staging
    Seat seat = {};

    friend bool operator==(const Place&, const Place&) = default;
  };
  /// Until `peer` has done `ticks` ticks.
  struct Wait {
    int peer;
    int ticks;

    friend bool operator==(const Wait&, const Wait&) = default;
  };
  /// One pass over one chunk: what lies at `operands` is combined (one operand: copied) and goes to every target.
  struct Move {
    int chunk;
    std::vector<Place> operands;  ///< in ascending order of their ranks
    std::vector<Place> targets;
    bool finishes = false;  ///< the chunk is complete now: what follows the sum (a mean's division) is done here
    /// A target lies where another rank reads what it is given, so that the reader's core holds it too: its copy has to
    /// go before this rank writes there again.
    bool takes_back = false;

    friend bool operator==(const Move&, const Move&) = default;
  };
  struct Step {
    int ticks_before;  ///< how many ticks this rank has done when it comes to it
    std::vector<Wait> before;
    std::vector<Move> moves;

    friend bool operator==(const Step&, const Step&) = default;
  };

  /// Staged: a piece, of all chunks together, should stay in a core's cache until its readers have it.
  static constexpr std::size_t kPieceBytes = std::size_t{256} << 10;

  /// Staged: the first tick is the copy of what peers will read into staging.
  static constexpr int kTicksBeforeSteps = 1;

  std::string algorithm;
  int chunks = 1;
  int ticks = 0;             ///< of the whole; every rank ends with as many
  int staging_versions = 0;  ///< how many versions of a chunk the staging area holds; 0: nothing is staged
  /// Staged, in two steps, where pairs of ranks trade values and nothing else happens: the k-th move of the first step
  /// writes, for the next piece, where the k-th of the second has read, of this one. So they can be one pass. All ranks
  /// do it or none.
  bool weaves = false;
  std::vector<Rotation> rotations;
  std::vector<Step> steps;  ///< those in which this rank moves or waits
  /// In place: before the operation ends. Staged: before this rank's staging area is written by another plan.
  std::vector<Wait> after;
  /// Staged: before this one uses it again, a turn further on.
  std::vector<Wait> after_turning;
  /// Staged: before a plan with rotations, which writes into the areas of other ranks too: all is over everywhere.
  std::vector<Wait> after_all;

  /// Staged: the most of a chunk that is in one piece, where the longest chunk has so many bytes. What weaves has two
  /// pieces at least, unless it is small: within a single one there is nothing to weave.
  std::size_t slice_bytes(std::size_t chunk_bytes) const;

  /// Where the staged value of a chunk lies.
  Stage stage_of(const Place& place, int chunk, std::uint64_t turn) const {
    if (!place.seat.rotates()) return {.rank = place.rank, .chunk = chunk, .version = place.version};
    const Rotation& rotation = rotations[static_cast<std::size_t>(place.seat.rotation)];
    return rotation[(static_cast<std::size_t>(place.seat.position) + turn) % rotation.size()];
  }
  bool is_staged() const { return staging_versions > 0; }
  /// Which of the schedule's steps steps[position] carries out; -1 for the copy into staging.
  int schedule_step(std::size_t position) const {
    return steps[position].ticks_before - (is_staged() ? kTicksBeforeSteps : 0);
  }
  /// The ticks this rank has done once it stands before steps[position].
  int ticks_at(std::size_t position) const { return position < steps.size() ? steps[position].ticks_before : ticks; }

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// For buffers that every rank sees (registered memory), and schedules in which no chunk is written in a step in which
/// it is read: nothing is copied that the schedule does not copy. Where a rank finishes a chunk in one step and sends
/// it on in the next, and nobody else touches the chunk there meanwhile, the sum goes to all of them in the same pass.
Plan make_in_place_plan(const Schedule& schedule, int rank);
/// Whether the schedule admits it.
bool runs_in_place(const Schedule& schedule);

/// For any memory and any schedule: what peers read is put into the staging area first, and no other rank touches this
/// rank's buffers, in which this rank keeps what it adds to itself. One use of the area after another, values go on to
/// each other's places.
Plan make_staged_plan(const Schedule& schedule, int rank);

}  // namespace lockstep
