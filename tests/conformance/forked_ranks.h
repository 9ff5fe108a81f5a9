#pragma once

#include "base/held_port.h"
#include "tests/conformance/worlds.h"
#include "transport/message_transport.h"
#include "transport/transport.h"

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lockstep::conformance {

/// Processes forked from this one, a rank each. They end with this object, and with this process.
class ForkedRanks {
 public:
  /// `body` is given its rank and returns its process's exit code.
  ForkedRanks(int ranks, const std::function<int(int)>& body);
  ~ForkedRanks();
  ForkedRanks(const ForkedRanks&) = delete;
  ForkedRanks& operator=(const ForkedRanks&) = delete;

  /// Waits for the rank's end: its exit code, or 1000 + the signal that ended it.
  int wait(int rank);

 private:
  std::vector<pid_t> pids_;  ///< by rank; -1 once it has ended
};

/// Where the processes of one job find each other.
class Meeting {
 public:
  Meeting(Medium medium, int ranks);

  Medium medium() const { return medium_; }

  std::unique_ptr<Transport> shared_memory(int rank) const;
  std::unique_ptr<MessageTransport> tcp(int rank) const;
  std::unique_ptr<detail::Engine> engine(int rank) const;

 private:
  Medium medium_;
  int ranks_;
  std::string job_;
  HeldPort port_;
};

}  // namespace lockstep::conformance
