#pragma once

#include "base/file_descriptor.h"
#include "launch/process.h"

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace lockstep::compare {

/// A library under comparison: how its ranks are started.
struct PeerPlan {
  std::string name;                      ///< as the report prints it
  std::vector<std::string> command;      ///< a launcher, its arguments and the peer program
  std::vector<std::string> environment;  ///< "NAME=value", added to ours
  int ranks = 2;
};

/// What all ranks answered together.
struct Answer {
  std::vector<double> seconds;  ///< an iteration each: the slowest rank's
  std::uint64_t wrong = 0;      ///< over all ranks
};

/// The ranks of one library, each connected to us by a socket, asleep until they are asked.
class PeerWorld {
 public:
  /// Starts them and waits until all have joined. `folder` is for the socket, of this world alone.
  PeerWorld(const PeerPlan& plan, const std::filesystem::path& folder);
  /// Ends them, by their process ids where they do not end by themselves.
  ~PeerWorld();
  PeerWorld(const PeerWorld&) = delete;
  PeerWorld& operator=(const PeerWorld&) = delete;

  /// Asks all ranks the same. None when one gave no answer in time: then this world is not asked again.
  std::optional<Answer> ask(const std::string& command, std::chrono::milliseconds timeout);
  /// Empty, or why there are no answers.
  const std::string& failure() const { return failure_; }

 private:
  struct Rank {
    FileDescriptor socket;
    pid_t pid = -1;
  };
  using Deadline = std::chrono::steady_clock::time_point;

  std::optional<std::string> receive_line(const FileDescriptor& socket, Deadline deadline) const;
  void accept_ranks(const FileDescriptor& listener, Deadline deadline);
  std::string last_words() const;
  void fail(const std::string& why);

  PeerPlan plan_;
  Process process_;
  std::vector<Rank> ranks_;
  std::string failure_;
};

}  // namespace lockstep::compare
