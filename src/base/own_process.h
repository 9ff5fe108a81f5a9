#pragma once

#include <unistd.h>

namespace lockstep {

/// The process that made this. A child that it forks is another, and holds copies of what its parent shares with
/// others: when the child ends, it has nothing to tell them.
class OwnProcess {
 public:
  bool is_this() const { return ::getpid() == id_; }

 private:
  pid_t id_ = ::getpid();
};

}  // namespace lockstep
