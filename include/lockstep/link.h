#pragma once

#include <lockstep/group.h>

#include <optional>
#include <string>
#include <string_view>

namespace lockstep {

/// What lies between ranks, in the field's two numbers: a message takes alpha + bytes * beta. Effective ones: those by
/// which a ring's all-reduce, 2 (p-1) messages of 1/p of the bytes, takes as long as all-reduce does here at 1 KiB and
/// at 4 MiB.
struct Link {
  double alpha_s = 0;       ///< seconds a message
  double beta_s = 0;        ///< seconds a byte
  std::string source = {};  ///< "measured", "calibrated here", a file's name
};

/// Measured now, by a few all-reduces: takes some seconds where 4 MiB take one. The same on all ranks. Collective and
/// blocking; throws Error as all_reduce and Group::allocate do. Nothing costs anything in a group of one.
Link measured_link(const Group& group);

/// Of so many ranks that share this host's memory, by what `lockstep calibrate` stored; none if it did not, or on
/// another machine, or of more ranks than it speaks of (16). Throws Error (kRefused) for a file that it did not write.
std::optional<Link> calibrated_link(int ranks);

/// Of the first `ranks` ranks of a topology in TOML (docs/design/planner.md), by simulation. Throws Error
/// (kInvalidArgument) with `source_name` and what is wrong, also with so many ranks that a ring is not simulated.
Link link_of_topology(std::string_view toml, const std::string& source_name, int ranks);

}  // namespace lockstep
