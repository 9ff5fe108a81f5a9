#pragma once

#include "topology/cpu_quota.h"

#include <sched.h>

namespace lockstep::shm {

/// How long to stay awake before sleeping. Where every rank has a core to itself an answer comes within microseconds,
/// and spinning for it is cheapest; where ranks share cores, a spinning rank keeps the one it waits for from running,
/// so that it yields: a rank that is alone awake on its core then looks on for some 100 us, which cost less than to
/// wake it.
class Patience {
 public:
  /// `ranks`: that share this machine's cores.
  explicit Patience(int ranks) {
    const bool own_core = ranks <= job_cpus();
    spins_ = own_core ? 4000 : 0;
    yields_ = own_core ? 64 : 400;
  }

  /// Whether it was there before the patience was at its end.
  template <class There>
  bool look_for(const There& there) const {
    for (int i = 0; i < spins_; ++i) {
      if (there()) return true;
      relax();
    }
    for (int i = 0; i < yields_; ++i) {
      if (there()) return true;
      ::sched_yield();
    }
    return there();
  }

 private:
  static void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  int spins_;
  int yields_;
};

}  // namespace lockstep::shm
