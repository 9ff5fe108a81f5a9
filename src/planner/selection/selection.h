#pragma once

#include "planner/medium.h"
#include "topology/cpu_quota.h"
#include "topology/dealing.h"

#include <lockstep/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace lockstep {

/// Which algorithm "auto" is, by collective and bytes: a value with a text form that people read and write,
///
///   all_reduce: 0-4KiB direct, 4KiB- ring; all_reduce plain: naive; broadcast: tree
///
/// Ranges of a collective follow each other from 0 on, the last is open; "broadcast: tree" is "broadcast: 0- tree". A
/// size belongs to the range that starts at it or below. What is said of plain memory comes after what is said of the
/// collective, which holds for all memory where nothing is.
class Selection {
 public:
  struct Range {
    std::uint64_t from_bytes = 0;
    std::string algorithm;

    friend bool operator==(const Range&, const Range&) = default;
  };

  /// Reads the text form. Throws Error (kInvalidArgument) with `source_name`, the part that is wrong, and what to
  /// write: unknown collectives and algorithms (with the nearest right word), an algorithm that does not do the
  /// collective, ranges with holes.
  static Selection parse(std::string_view text, std::string_view source_name);

  /// The text form; parse() gives an equal selection back.
  std::string to_text() const;

  /// The algorithm's name; empty for a collective of which nothing is said.
  std::string_view select(Collective collective, std::uint64_t bytes,
                          MemoryKind memory = MemoryKind::kRegistered) const;

  bool has_plain(Collective collective) const { return plain_.contains(collective); }

  /// Those of which something is said.
  std::vector<Collective> collectives() const;

  /// Adds ranges, which start at 0 and ascend. Neighbours with the same algorithm become one.
  void set(Collective collective, const std::vector<Range>& ranges, MemoryKind memory = MemoryKind::kRegistered);
  /// Takes over what `other` says of a collective, in place of what is said here of it, for any memory.
  void override_with(const Selection& other);
  /// Takes over what `other` says of plain memory where nothing is said here.
  void take_plain_from(const Selection& other);

  friend bool operator==(const Selection&, const Selection&) = default;

 private:
  using Ranges = std::map<Collective, std::vector<Range>>;

  Ranges ranges_;
  Ranges plain_;
};

/// What is built in, where nothing was measured: a range for every collective that the catalogue does. `hosts` says on
/// which host each rank is, by any numbers; empty where they share one. Between hosts it is messages, whatever `medium`
/// says (between_hosts.h). On one host it matters whether each rank has one of `cores` to itself, or takes turns with
/// others of the group or of the job; ranks of containers may differ in what they have, and must agree on a number
/// first (group/placement.h).
Selection built_in_selection(int ranks, Medium medium = Medium::kSharedMemory, const std::vector<int>& hosts = {},
                             const GroupCores& cores = job_cpus());

/// The algorithm that "auto" is: pure, the same on every rank that has the same selection.
std::string select(const Selection& selection, Collective collective, std::uint64_t bytes,
                   MemoryKind memory = MemoryKind::kRegistered);

}  // namespace lockstep
