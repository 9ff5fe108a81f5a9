#pragma once

#include "runtime/write_policy.h"

#include <string>
#include <vector>

namespace lockstep {

/// The machine that a calibration belongs to. Nothing in it changes when it boots again, but for a little of its
/// memory: another kernel keeps more for itself, and the host of a virtual machine may take some back.
struct Machine {
  std::string processor;  ///< as the system names it
  int cores = 1;          ///< that all ranks together may use
  int threads = 1;        ///< logical CPUs that these are: more than cores where those are hyperthreaded
  double memory_bytes = 0;
  double cache_bytes_first = 0;   ///< of data, that a core has for itself (level 1)
  double cache_bytes_a_core = 0;  ///< that a core has for itself (level 2)
  double cache_bytes_shared = 0;  ///< that all cores share (level 3); 0: none
};

/// What tells a machine from this one: "cores: 8, here 4". Empty where it is the same, with as much memory but for a
/// tenth.
std::vector<std::string> differences(const Machine& there, const Machine& here);
bool operator==(const Machine& there, const Machine& here);

/// The machine this runs on, as /proc and /sys describe it; what they do not say is 0 or "unknown".
Machine this_machine();

/// What shared memory must know of its caches. AMD's are slow to take back: a core that writes to a line which another
/// has read asks for it beyond the cache that they share, at 9 GB/s, or 2 where they share none, while it reads what
/// another has written at 18 to 44, and writes past the caches at 32 (EPYC, family 25, model 17; kernels_speed
/// crossing). Intel's are worth asking: a sum there goes at 7 GB/s, and at 19 where it asks early (Xeon, model 207).
WritePolicy::Caches caches_of(const Machine& machine);

/// The largest buffer, of so many ranks, whose results are left in the caches (WritePolicy).
double most_cached_bytes(const Machine& machine, int ranks);

}  // namespace lockstep
